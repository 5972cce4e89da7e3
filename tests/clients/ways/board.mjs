// A task board of Express and Drizzle: MariaDB by mysql2, a cache in Redis by ioredis. Settings are in the environment.
import crypto from 'node:crypto';
import { promisify } from 'node:util';
import { and, asc, count, desc, eq, gt, gte, like, sql } from 'drizzle-orm';
import { datetime, int, mysqlTable, varchar } from 'drizzle-orm/mysql-core';
import { drizzle } from 'drizzle-orm/mysql2';
import express from 'express';
import Redis from 'ioredis';
import mysql from 'mysql2/promise';

const SESSION_SECS = 3600;
const STATS_SECS = 60;
const PAGE = 5;
const scrypt = promisify(crypto.scrypt);

const base = {
  id: varchar('id', { length: 36 }).primaryKey().$defaultFn(() => crypto.randomUUID()),
  createdAt: datetime('created_at', { fsp: 3 }).notNull().$defaultFn(() => new Date()),
  updatedAt: datetime('updated_at', { fsp: 3 }).notNull().$defaultFn(() => new Date()).$onUpdateFn(() => new Date()),
};
const reference = (name) => varchar(name, { length: 36 }).notNull();
const text = (name, length = 200) => varchar(name, { length }).notNull();
const users = mysqlTable('users', { ...base, name: text('name'), passwordHash: text('password_hash') });
const sessions = mysqlTable('sessions', {
  ...base,
  token: text('token'),
  userId: reference('user_id'),
  expiresAt: datetime('expires_at', { fsp: 3 }).notNull(),
});
const projects = mysqlTable('projects', { ...base, name: text('name') });
const tasks = mysqlTable('tasks', {
  ...base,
  projectId: reference('project_id'),
  title: text('title'),
  priority: int('priority').notNull(),
  status: text('status', 20).$defaultFn(() => 'open'),
  due: varchar('due', { length: 10 }),
});
const comments = mysqlTable('comments', {
  ...base,
  taskId: reference('task_id'),
  authorId: reference('author_id'),
  text: text('text'),
});
const events = mysqlTable('events', { ...base, taskId: reference('task_id'), what: text('what') });

const stamped = 'id varchar(36) PRIMARY KEY, created_at datetime(3) NOT NULL, updated_at datetime(3) NOT NULL';
const TABLES = [
  `users (${stamped}, name varchar(200) NOT NULL UNIQUE, password_hash varchar(200) NOT NULL)`,
  `sessions (${stamped}, token varchar(200) NOT NULL UNIQUE, user_id varchar(36) NOT NULL, expires_at datetime(3) NOT NULL)`,
  `projects (${stamped}, name varchar(200) NOT NULL)`,
  `tasks (${stamped}, project_id varchar(36) NOT NULL, title varchar(200) NOT NULL, priority int NOT NULL,
    status varchar(20) NOT NULL, due varchar(10))`,
  `comments (${stamped}, task_id varchar(36) NOT NULL, author_id varchar(36) NOT NULL, text varchar(200) NOT NULL)`,
  `events (${stamped}, task_id varchar(36) NOT NULL, what varchar(200) NOT NULL)`,
];

const pool = mysql.createPool({ uri: process.env.DATABASE_URL, connectionLimit: 5 });
const db = drizzle({ client: pool });
const cache = new Redis(process.env.REDIS_URL);
const app = express();
app.use(express.json());

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function hash(password, salt = crypto.randomBytes(16).toString('hex')) {
  return `${salt}:${(await scrypt(password, salt, 32)).toString('hex')}`;
}

/** The user whose token was sent. */
async function who(request) {
  const token = (request.headers.authorization ?? '').replace('Bearer ', '');
  const [user] = await db
    .select({ id: users.id, name: users.name })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.token, token), gt(sessions.expiresAt, new Date())));
  if (!user) throw new Refused(401, 'log in first');
  return user;
}

async function found(table, name, id, tx = db) {
  const [one] = await tx.select().from(table).where(eq(table.id, id)).limit(1);
  if (!one) throw new Refused(404, `no such ${name}`);
  return one;
}

const brief = ({ id, title, priority, status, due, createdAt }) => ({ id, title, priority, status, due, createdAt });

app.post('/users', async ({ body }, response) => {
  const [taken] = await db.select({ id: users.id }).from(users).where(eq(users.name, body.name));
  if (taken) throw new Refused(409, 'the name is taken');
  const [{ id }] = await db.insert(users).values({ name: body.name, passwordHash: await hash(body.password) }).$returningId();
  response.status(201).json({ id, name: body.name });
});

app.post('/sessions', async ({ body }, response) => {
  const [user] = await db.select().from(users).where(eq(users.name, body.name)).limit(1);
  const good = user && (await hash(body.password, user.passwordHash.split(':')[0])) === user.passwordHash;
  if (!good) throw new Refused(401, 'wrong name or password');
  const token = crypto.randomBytes(24).toString('base64url');
  await db.insert(sessions).values({ token, userId: user.id, expiresAt: new Date(Date.now() + SESSION_SECS * 1000) });
  response.status(201).json({ token, name: user.name });
});

app.get('/me', async (request, response) => {
  const user = await who(request);
  const written = await db.$count(comments, eq(comments.authorId, user.id));
  response.json({ ...user, comments: written });
});

app.post('/projects', async ({ body }, response) => {
  const [{ id }] = await db.insert(projects).values({ name: body.name }).$returningId();
  const { name, createdAt } = await found(projects, 'project', id);
  response.status(201).json({ id, name, createdAt });
});

app.get('/projects', async (request, response) => {
  const open = sql`cast(count(case when ${tasks.status} = 'open' then 1 end) as signed)`.mapWith(Number);
  const counted = db.select({ name: projects.name, open }).from(projects).leftJoin(tasks, eq(tasks.projectId, projects.id));
  response.json(await counted.groupBy(projects.id).orderBy(asc(projects.name)));
});

app.post('/projects/:id/tasks', async ({ params, body }, response) => {
  const project = await found(projects, 'project', params.id);
  const task = await db.transaction(async (tx) => {
    const given = { projectId: project.id, title: body.title, priority: body.priority, due: body.due ?? null };
    const [{ id }] = await tx.insert(tasks).values(given).$returningId();
    await tx.insert(events).values({ taskId: id, what: 'created' });
    return found(tasks, 'task', id, tx);
  });
  await cache.del('stats');
  response.status(201).json(brief(task));
});

app.get('/tasks', async ({ query }, response) => {
  const chosen = and(
    query.status ? eq(tasks.status, query.status) : undefined,
    query.project ? eq(tasks.projectId, query.project) : undefined,
    query.priority ? gte(tasks.priority, Number(query.priority)) : undefined,
    query.q ? like(tasks.title, `%${query.q}%`) : undefined,
  );
  // Both at once, on two connections of the pool.
  const [total, page] = await Promise.all([
    db.$count(tasks, chosen),
    db.select().from(tasks).where(chosen).orderBy(desc(tasks.priority), asc(tasks.title)).limit(PAGE),
  ]);
  response.json({ total, tasks: page.map(brief) });
});

app.get('/tasks/:id', async ({ params }, response) => {
  const joined = db.select({ task: tasks, project: projects.name }).from(tasks);
  const [one] = await joined.innerJoin(projects, eq(projects.id, tasks.projectId)).where(eq(tasks.id, params.id));
  if (!one) throw new Refused(404, 'no such task');
  const said = await db
    .select({ author: users.name, text: comments.text })
    .from(comments)
    .innerJoin(users, eq(users.id, comments.authorId))
    .where(eq(comments.taskId, one.task.id))
    .orderBy(asc(comments.createdAt));
  response.json({ ...brief(one.task), project: one.project, comments: said });
});

app.patch('/tasks/:id', async ({ params, body }, response) => {
  const changed = Object.fromEntries(['title', 'status', 'priority'].filter((name) => name in body).map((name) => [name, body[name]]));
  const task = await db.transaction(async (tx) => {
    const { id } = await found(tasks, 'task', params.id, tx);
    await tx.update(tasks).set(changed).where(eq(tasks.id, id));
    await tx.insert(events).values({ taskId: id, what: `changed ${Object.keys(body).sort().join(', ')}` });
    return found(tasks, 'task', id, tx);
  });
  await cache.del('stats');
  response.json(brief(task));
});

app.delete('/tasks/:id', async ({ params }, response) => {
  await db.transaction(async (tx) => {
    const { id } = await found(tasks, 'task', params.id, tx);
    for (const table of [comments, events]) await tx.delete(table).where(eq(table.taskId, id));
    await tx.delete(tasks).where(eq(tasks.id, id));
  });
  await cache.del('stats');
  response.status(204).end();
});

app.post('/tasks/:id/comments', async (request, response) => {
  const user = await who(request);
  const { id } = await found(tasks, 'task', request.params.id);
  await db.transaction(async (tx) => {
    await tx.insert(comments).values({ taskId: id, authorId: user.id, text: request.body.text });
    await tx.insert(events).values({ taskId: id, what: 'commented' });
  });
  response.status(201).json({ author: user.name });
});

app.get('/tasks/:id/events', async ({ params }, response) => {
  const listed = db.select({ what: events.what }).from(events).where(eq(events.taskId, params.id));
  response.json((await listed.orderBy(asc(events.createdAt), asc(events.what))).map(({ what }) => what));
});

app.get('/stats', async (request, response) => {
  const known = await cache.get('stats');
  if (known !== null) return response.json({ ...JSON.parse(known), cached: true });
  const rows = await db.select({ status: tasks.status, many: count() }).from(tasks).groupBy(tasks.status);
  const counts = Object.fromEntries(rows.map(({ status, many }) => [status, many]));
  await cache.set('stats', JSON.stringify(counts), 'EX', STATS_SECS);
  response.json({ ...counts, cached: false });
});

app.use((error, request, response, _next) => {
  response.status(error.status ?? 500).json({ error: error.cause?.message ?? error.message });
});

for (const table of TABLES) await db.execute(sql.raw(`CREATE TABLE IF NOT EXISTS ${table}`));
app.listen(Number(process.env.PORT), '127.0.0.1');
