"""A task board of Flask and SQLAlchemy: PostgreSQL by psycopg, sessions and a cache in Redis. Settings are in the environment."""

import json
import os
import secrets
import uuid
from datetime import UTC, date, datetime

import flask
import redis
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship
from werkzeug.exceptions import HTTPException
from werkzeug.security import check_password_hash, generate_password_hash

SESSION_SECS = 3600
STATS_SECS = 60
PAGE = 5


def now() -> datetime:
    return datetime.now(UTC)


class Base(DeclarativeBase):
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    created_at: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True), default=now)
    updated_at: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True), default=now, onupdate=now)


class User(Base):
    __tablename__ = "users"
    name: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]


class Project(Base):
    __tablename__ = "projects"
    name: Mapped[str]


class Task(Base):
    __tablename__ = "tasks"
    project_id: Mapped[uuid.UUID] = mapped_column(sa.ForeignKey("projects.id"))
    title: Mapped[str]
    priority: Mapped[int]
    status: Mapped[str] = mapped_column(default="open")
    due: Mapped[date | None]
    project: Mapped[Project] = relationship()
    comments: Mapped[list["Comment"]] = relationship(order_by="Comment.created_at", cascade="all, delete-orphan")
    events: Mapped[list["Event"]] = relationship(order_by="Event.created_at", cascade="all, delete-orphan")


class Comment(Base):
    __tablename__ = "comments"
    task_id: Mapped[uuid.UUID] = mapped_column(sa.ForeignKey("tasks.id"))
    author_id: Mapped[uuid.UUID] = mapped_column(sa.ForeignKey("users.id"))
    text: Mapped[str]
    author: Mapped[User] = relationship()


class Event(Base):
    __tablename__ = "events"
    task_id: Mapped[uuid.UUID] = mapped_column(sa.ForeignKey("tasks.id"))
    what: Mapped[str]


engine = sa.create_engine(os.environ["DATABASE_URL"], pool_size=5)
cache = redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
app = flask.Flask("board")


def brief(task: Task) -> dict:
    fields = {"id": str(task.id), "title": task.title, "priority": task.priority, "status": task.status}
    return {**fields, "due": task.due and task.due.isoformat(), "createdAt": task.created_at.isoformat()}


def found(db: Session, kind: type, id: uuid.UUID):
    one = db.get(kind, id)
    if one is None:
        flask.abort(404, f"no such {kind.__name__.lower()}")
    return one


def who() -> dict:
    """The user whose token was sent."""
    token = flask.request.headers.get("Authorization", "").removeprefix("Bearer ")
    user = cache.hgetall(f"session:{token}") if token else {}
    if not user:
        flask.abort(401, "log in first")
    cache.expire(f"session:{token}", SESSION_SECS)
    return user


@app.post("/users")
def register():
    asked = flask.request.get_json()
    with Session(engine) as db:
        if db.scalar(sa.select(User.id).where(User.name == asked["name"])):
            flask.abort(409, "the name is taken")
        user = User(name=asked["name"], password_hash=generate_password_hash(asked["password"]))
        db.add(user)
        db.commit()
        return {"id": str(user.id), "name": user.name}, 201


@app.post("/sessions")
def log_in():
    asked = flask.request.get_json()
    with Session(engine) as db:
        user = db.scalar(sa.select(User).where(User.name == asked["name"]))
        if user is None or not check_password_hash(user.password_hash, asked["password"]):
            flask.abort(401, "wrong name or password")
        token = secrets.token_urlsafe(24)
        with cache.pipeline() as both:
            both.hset(f"session:{token}", mapping={"id": str(user.id), "name": user.name})
            both.expire(f"session:{token}", SESSION_SECS)
            both.execute()
        return {"token": token, "name": user.name}, 201


@app.get("/me")
def me():
    user = who()
    with Session(engine) as db:
        written = db.scalar(sa.select(sa.func.count()).where(Comment.author_id == uuid.UUID(user["id"])))
    return {**user, "comments": written}


@app.post("/projects")
def add_project():
    with Session(engine, expire_on_commit=False) as db:
        project = Project(name=flask.request.get_json()["name"])
        db.add(project)
        db.commit()
    return {"id": str(project.id), "name": project.name, "createdAt": project.created_at.isoformat()}, 201


@app.get("/projects")
def projects():
    open_tasks = sa.func.count(Task.id).filter(Task.status == "open")
    counted = sa.select(Project.name, open_tasks).outerjoin(Task).group_by(Project.id).order_by(Project.name)
    with Session(engine) as db:
        return [{"name": name, "open": count} for name, count in db.execute(counted)]


@app.post("/projects/<uuid:id>/tasks")
def add_task(id: uuid.UUID):
    asked = flask.request.get_json()
    due = date.fromisoformat(asked["due"]) if "due" in asked else None
    with Session(engine) as db:
        project = found(db, Project, id)
        task = Task(project_id=project.id, title=asked["title"], priority=asked["priority"], due=due)
        task.events.append(Event(what="created"))
        db.add(task)
        db.commit()
        cache.delete("stats")
        return brief(task), 201


@app.get("/tasks")
def tasks():
    chosen = sa.select(Task)
    for name, column in [("status", Task.status), ("project", Task.project_id)]:
        if name in flask.request.args:
            chosen = chosen.where(column == flask.request.args[name])
    if "priority" in flask.request.args:
        chosen = chosen.where(Task.priority >= int(flask.request.args["priority"]))
    if "q" in flask.request.args:
        chosen = chosen.where(Task.title.ilike(f"%{flask.request.args['q']}%"))
    with Session(engine) as db:
        total = db.scalar(sa.select(sa.func.count()).select_from(chosen.subquery()))
        page = db.scalars(chosen.order_by(Task.priority.desc(), Task.title).limit(PAGE))
        return {"total": total, "tasks": [brief(task) for task in page]}


@app.get("/tasks/<uuid:id>")
def task(id: uuid.UUID):
    whole = sa.select(Task).where(Task.id == id).options(joinedload(Task.project))
    with Session(engine) as db:
        one = db.scalar(whole)
        if one is None:
            flask.abort(404, "no such task")
        comments = [{"author": comment.author.name, "text": comment.text} for comment in one.comments]
        return {**brief(one), "project": one.project.name, "comments": comments}


@app.patch("/tasks/<uuid:id>")
def change_task(id: uuid.UUID):
    asked = flask.request.get_json()
    with Session(engine) as db:
        one = found(db, Task, id)
        for name in ("title", "status", "priority"):
            if name in asked:
                setattr(one, name, asked[name])
        db.add(Event(task_id=one.id, what=f"changed {', '.join(sorted(asked))}"))
        db.commit()
        cache.delete("stats")
        return brief(one)


@app.delete("/tasks/<uuid:id>")
def remove_task(id: uuid.UUID):
    with Session(engine) as db:
        db.delete(found(db, Task, id))
        db.commit()
    cache.delete("stats")
    return "", 204


@app.post("/tasks/<uuid:id>/comments")
def comment(id: uuid.UUID):
    user = who()
    with Session(engine) as db:
        one = found(db, Task, id)
        db.add(Comment(task_id=one.id, author_id=uuid.UUID(user["id"]), text=flask.request.get_json()["text"]))
        db.add(Event(task_id=one.id, what="commented"))
        db.commit()
    return {"author": user["name"]}, 201


@app.get("/tasks/<uuid:id>/events")
def events(id: uuid.UUID):
    with Session(engine) as db:
        listed = sa.select(Event.what).where(Event.task_id == id).order_by(Event.created_at, Event.what)
        return list(db.scalars(listed))


@app.get("/stats")
def stats():
    known = cache.get("stats")
    if known is not None:
        return {**json.loads(known), "cached": True}
    with Session(engine) as db:
        counts = dict(db.execute(sa.select(Task.status, sa.func.count()).group_by(Task.status)).all())
    cache.set("stats", json.dumps(counts), ex=STATS_SECS)
    return {**counts, "cached": False}


@app.errorhandler(Exception)
def failed(error: Exception):
    if isinstance(error, HTTPException):
        return {"error": error.description}, error.code
    return {"error": str(error)}, 500


Base.metadata.create_all(engine)
app.run("127.0.0.1", int(os.environ["PORT"]), threaded=True)
