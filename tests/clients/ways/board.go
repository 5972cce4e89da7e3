// A task board of net/http and database/sql: PostgreSQL by lib/pq, a cache in Redis by redigo. Settings are in the environment.
package main

import (
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	_ "github.com/lib/pq"
	"golang.org/x/crypto/bcrypt"
)

const (
	session   = time.Hour
	statsSecs = 60
	page      = 5
	schema    = `
CREATE TABLE IF NOT EXISTS users (id uuid PRIMARY KEY, name text NOT NULL UNIQUE, password_hash text NOT NULL,
	created_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (token text PRIMARY KEY, user_id uuid NOT NULL REFERENCES users, expires_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS projects (id uuid PRIMARY KEY, name text NOT NULL, created_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS tasks (id uuid PRIMARY KEY, project_id uuid NOT NULL REFERENCES projects, title text NOT NULL,
	priority int NOT NULL, status text NOT NULL, due date, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS comments (id uuid PRIMARY KEY, task_id uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
	author_id uuid NOT NULL REFERENCES users, text text NOT NULL, created_at timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS events (id uuid PRIMARY KEY, task_id uuid NOT NULL REFERENCES tasks ON DELETE CASCADE,
	what text NOT NULL, created_at timestamptz NOT NULL);`
	columns = "id, title, priority, status, due, created_at"
)

type task struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	Priority  int        `json:"priority"`
	Status    string     `json:"status"`
	Due       *time.Time `json:"due"`
	CreatedAt time.Time  `json:"createdAt"`
}

type refused struct {
	status int
	said   string
}

func (r refused) Error() string { return r.said }

type object = map[string]any

type scanner interface{ Scan(...any) error }

type board struct {
	db    *sql.DB
	cache *redis.Pool
}

func read(row scanner) (one task, err error) {
	err = row.Scan(&one.ID, &one.Title, &one.Priority, &one.Status, &one.Due, &one.CreatedAt)
	return one, known(err, 404, "no such task")
}

// An error that says so instead of one of no rows.
func known(err error, status int, said string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return refused{status, said}
	}
	return err
}

func list[T any](db *sql.DB, one func(scanner) (T, error), query string, values ...any) ([]T, error) {
	listed := []T{}
	rows, err := db.Query(query, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		each, err := one(rows)
		if err != nil {
			return nil, err
		}
		listed = append(listed, each)
	}
	return listed, rows.Err()
}

// Does something to a task and notes it, or neither.
func (b *board) change(what string, work func(*sql.Tx) (task, error)) (one task, err error) {
	tx, err := b.db.Begin()
	if err != nil {
		return one, err
	}
	defer tx.Rollback()
	if one, err = work(tx); err != nil {
		return one, err
	}
	_, err = tx.Exec("INSERT INTO events (id, task_id, what, created_at) VALUES ($1, $2, $3, $4)", uuid.New(), one.ID, what, time.Now())
	if err != nil {
		return one, err
	}
	return one, tx.Commit()
}

func (b *board) forget() error {
	connection := b.cache.Get()
	defer connection.Close()
	_, err := connection.Do("DEL", "stats")
	return err
}

// The user whose token was sent.
func (b *board) who(r *http.Request) (id, name string, err error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	err = b.db.QueryRow(`SELECT u.id, u.name FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.token = $1 AND s.expires_at > $2`, token, time.Now()).Scan(&id, &name)
	return id, name, known(err, 401, "log in first")
}

func (b *board) register(_ *http.Request, _ string, asked object) (any, error) {
	var taken bool
	if err := b.db.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE name = $1)", asked["name"]).Scan(&taken); err != nil {
		return nil, err
	}
	if taken {
		return nil, refused{409, "the name is taken"}
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(asked["password"].(string)), bcrypt.MinCost)
	if err != nil {
		return nil, err
	}
	id := uuid.New()
	_, err = b.db.Exec("INSERT INTO users (id, name, password_hash, created_at) VALUES ($1, $2, $3, $4)",
		id, asked["name"], string(hash), time.Now())
	return object{"id": id, "name": asked["name"]}, err
}

func (b *board) logIn(_ *http.Request, _ string, asked object) (any, error) {
	var id, hash string
	wrong := refused{401, "wrong name or password"}
	err := b.db.QueryRow("SELECT id, password_hash FROM users WHERE name = $1", asked["name"]).Scan(&id, &hash)
	if err != nil {
		return nil, known(err, wrong.status, wrong.said)
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(asked["password"].(string))) != nil {
		return nil, wrong
	}
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	token := hex.EncodeToString(random)
	_, err = b.db.Exec("INSERT INTO sessions (token, user_id, expires_at) VALUES ($1, $2, $3)", token, id, time.Now().Add(session))
	return object{"token": token, "name": asked["name"]}, err
}

func (b *board) me(r *http.Request, _ string, _ object) (any, error) {
	id, name, err := b.who(r)
	if err != nil {
		return nil, err
	}
	var written int
	err = b.db.QueryRow("SELECT count(*) FROM comments WHERE author_id = $1", id).Scan(&written)
	return object{"id": id, "name": name, "comments": written}, err
}

func (b *board) addProject(_ *http.Request, _ string, asked object) (any, error) {
	var made time.Time
	id := uuid.New()
	err := b.db.QueryRow("INSERT INTO projects (id, name, created_at) VALUES ($1, $2, $3) RETURNING created_at",
		id, asked["name"], time.Now()).Scan(&made)
	return object{"id": id, "name": asked["name"], "createdAt": made}, err
}

func (b *board) projects(_ *http.Request, _ string, _ object) (any, error) {
	one := func(row scanner) (object, error) {
		var name string
		var open int
		err := row.Scan(&name, &open)
		return object{"name": name, "open": open}, err
	}
	return list(b.db, one, `SELECT p.name, count(t.id) FILTER (WHERE t.status = 'open') FROM projects p
		LEFT JOIN tasks t ON t.project_id = p.id GROUP BY p.id ORDER BY p.name`)
}

func (b *board) addTask(_ *http.Request, project string, asked object) (any, error) {
	if err := b.db.QueryRow("SELECT id FROM projects WHERE id = $1", project).Scan(&project); err != nil {
		return nil, known(err, 404, "no such project")
	}
	made, err := b.change("created", func(tx *sql.Tx) (task, error) {
		return read(tx.QueryRow(`INSERT INTO tasks (id, project_id, title, priority, status, due, created_at, updated_at)
			VALUES ($1, $2, $3, $4, 'open', $5, $6, $6) RETURNING `+columns,
			uuid.New(), project, asked["title"], asked["priority"], asked["due"], time.Now()))
	})
	if err != nil {
		return nil, err
	}
	return made, b.forget()
}

func (b *board) tasks(r *http.Request, _ string, _ object) (any, error) {
	where, values := " FROM tasks WHERE true", []any{}
	for _, each := range [][2]string{{"status", "status ="}, {"project", "project_id ="}, {"priority", "priority >="}, {"q", "title ~*"}} {
		if value := r.URL.Query().Get(each[0]); value != "" {
			values = append(values, value)
			where += fmt.Sprintf(" AND %s $%d", each[1], len(values))
		}
	}
	var total int
	if err := b.db.QueryRow("SELECT count(*)"+where, values...).Scan(&total); err != nil {
		return nil, err
	}
	page, err := list(b.db, read, fmt.Sprintf("SELECT %s%s ORDER BY priority DESC, title LIMIT %d", columns, where, page), values...)
	return object{"total": total, "tasks": page}, err
}

func (b *board) task(_ *http.Request, id string, _ object) (any, error) {
	one, err := read(b.db.QueryRow("SELECT "+columns+" FROM tasks WHERE id = $1", id))
	if err != nil {
		return nil, err
	}
	var project string
	err = b.db.QueryRow("SELECT p.name FROM projects p JOIN tasks t ON t.project_id = p.id WHERE t.id = $1", one.ID).Scan(&project)
	if err != nil {
		return nil, err
	}
	comments, err := list(b.db, pair, `SELECT u.name, c.text FROM comments c JOIN users u ON u.id = c.author_id
		WHERE c.task_id = $1 ORDER BY c.created_at`, one.ID)
	return object{"task": one, "project": project, "comments": comments}, err
}

func pair(row scanner) (both [2]string, err error) { return both, row.Scan(&both[0], &both[1]) }

func (b *board) changeTask(_ *http.Request, id string, asked object) (any, error) {
	names := []string{}
	for name := range asked {
		names = append(names, name)
	}
	sort.Strings(names)
	changed, err := b.change("changed "+strings.Join(names, ", "), func(tx *sql.Tx) (task, error) {
		return read(tx.QueryRow(`UPDATE tasks SET title = coalesce($2, title), status = coalesce($3, status),
			priority = coalesce($4, priority), updated_at = $5 WHERE id = $1 RETURNING `+columns,
			id, asked["title"], asked["status"], asked["priority"], time.Now()))
	})
	if err != nil {
		return nil, err
	}
	return changed, b.forget()
}

func (b *board) removeTask(_ *http.Request, id string, _ object) (any, error) {
	if err := b.db.QueryRow("DELETE FROM tasks WHERE id = $1 RETURNING id", id).Scan(&id); err != nil {
		return nil, known(err, 404, "no such task")
	}
	return nil, b.forget()
}

func (b *board) comment(r *http.Request, id string, asked object) (any, error) {
	user, name, err := b.who(r)
	if err != nil {
		return nil, err
	}
	_, err = b.change("commented", func(tx *sql.Tx) (task, error) {
		one, err := read(tx.QueryRow("SELECT "+columns+" FROM tasks WHERE id = $1", id))
		if err != nil {
			return one, err
		}
		_, err = tx.Exec("INSERT INTO comments (id, task_id, author_id, text, created_at) VALUES ($1, $2, $3, $4, $5)",
			uuid.New(), one.ID, user, asked["text"], time.Now())
		return one, err
	})
	return object{"author": name}, err
}

func (b *board) events(_ *http.Request, id string, _ object) (any, error) {
	said := func(row scanner) (what string, err error) { return what, row.Scan(&what) }
	return list(b.db, said, "SELECT what FROM events WHERE task_id = $1 ORDER BY created_at, what", id)
}

func (b *board) stats(_ *http.Request, _ string, _ object) (any, error) {
	connection := b.cache.Get()
	defer connection.Close()
	counts := object{}
	known, err := redis.Bytes(connection.Do("GET", "stats"))
	if err == nil {
		err = json.Unmarshal(known, &counts)
		counts["cached"] = true
		return counts, err
	} else if err != redis.ErrNil {
		return nil, err
	}
	rows, err := list(b.db, pair, "SELECT status, count(*) FROM tasks GROUP BY status")
	if err != nil {
		return nil, err
	}
	for _, each := range rows {
		counts[each[0]] = each[1]
	}
	text, _ := json.Marshal(counts)
	_, err = connection.Do("SET", "stats", text, "EX", statsSecs)
	counts["cached"] = false
	return counts, err
}

func main() {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(5)
	if _, err := db.Exec(schema); err != nil {
		log.Fatal(err)
	}
	dial := func() (redis.Conn, error) { return redis.DialURL(os.Getenv("REDIS_URL")) }
	b := &board{db, &redis.Pool{MaxIdle: 3, IdleTimeout: time.Minute, Dial: dial}}
	routes := map[string]func(*http.Request, string, object) (any, error){
		"POST /users": b.register, "POST /sessions": b.logIn, "GET /me": b.me, "POST /projects": b.addProject, "GET /projects": b.projects,
		"POST /projects/*/tasks": b.addTask, "GET /tasks": b.tasks, "GET /tasks/*": b.task, "PATCH /tasks/*": b.changeTask,
		"DELETE /tasks/*": b.removeTask, "POST /tasks/*/comments": b.comment, "GET /tasks/*/events": b.events, "GET /stats": b.stats,
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		parts, id, asked := strings.Split(r.URL.Path, "/"), "", object{}
		if len(parts) > 2 {
			id, parts[2] = parts[2], "*"
		}
		said, err := any(nil), error(refused{404, "no such path"})
		if route := routes[r.Method+" "+strings.Join(parts, "/")]; route != nil {
			json.NewDecoder(r.Body).Decode(&asked)
			said, err = route(r, id, asked)
		}
		status := map[string]int{"POST": 201, "DELETE": 204, "GET": 200, "PATCH": 200}[r.Method]
		if err != nil {
			status, said = 500, object{"error": err.Error()}
		}
		var no refused
		if errors.As(err, &no) {
			status = no.status
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if status != 204 {
			json.NewEncoder(w).Encode(said)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
