// A small shop: orders in PostgreSQL, a cache in Redis, prices from another service that wants a token.
import fs from 'node:fs';
import express from 'express';
import pg from 'pg';
import { createClient } from 'redis';

const settings = JSON.parse(fs.readFileSync(new URL('./settings.json', import.meta.url)));

/** The other service: logs in once, and asks with the token that it was given. */
function prices() {
  let token;
  const login = async () => {
    const response = await fetch(`${settings.prices}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ user: 'shop', password: settings.pricesPassword }),
    });
    if (!response.ok) throw new Error(`login: ${response.status}`);
    return (await response.json()).access_token;
  };
  return async (item) => {
    token ??= login();
    const url = `${settings.prices}/price/${encodeURIComponent(item)}?api_key=${settings.pricesKey}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${await token}` } });
    if (!response.ok) throw new Error(`price of ${item}: ${response.status}`);
    return (await response.json()).cents;
  };
}

export async function start(port) {
  const db = new pg.Pool({ ...settings.postgres, max: 4 });
  const cache = createClient({ socket: settings.redis, password: settings.redisPassword });
  await cache.connect();
  await db.query('CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, item text NOT NULL, qty int NOT NULL, cents int NOT NULL)');
  const price = prices();
  const app = express();
  app.use(express.json());

  app.post('/orders', async (request, response) => {
    const { item, qty } = request.body;
    const client = await db.connect();
    try {
      await client.query('BEGIN');
      const cents = (await price(item)) * qty;
      const made = await client.query('INSERT INTO orders (item, qty, cents) VALUES ($1, $2, $3) RETURNING *', [item, qty, cents]);
      await client.query(qty > 100 ? 'ROLLBACK' : 'COMMIT');
      await cache.del('total');
      response.status(qty > 100 ? 422 : 201).json(qty > 100 ? { error: 'too many' } : made.rows[0]);
    } finally {
      client.release();
    }
  });
  app.get('/orders/:id', async (request, response) => {
    const found = await db.query('SELECT * FROM orders WHERE id = $1', [request.params.id]);
    response.status(found.rowCount ? 200 : 404).json(found.rows[0] ?? { error: 'unknown' });
  });
  app.get('/total', async (request, response) => {
    const known = await cache.get('total');
    if (known !== null) return response.json({ cents: Number(known), cached: true });
    const { rows } = await db.query('SELECT coalesce(sum(cents), 0)::int AS cents FROM orders');
    await cache.set('total', rows[0].cents, { EX: 60 });
    response.json({ cents: rows[0].cents, cached: false });
  });
  app.get('/dashboard', async (request, response) => {
    // All at once, on several connections.
    const [count, last, hits] = await Promise.all([
      db.query('SELECT count(*)::int AS n FROM orders'),
      db.query('SELECT item, qty FROM orders ORDER BY id DESC LIMIT 2'),
      cache.incr('hits'),
    ]);
    response.json({ count: count.rows[0].n, last: last.rows, hits });
  });
  app.use((error, request, response, _next) => response.status(500).json({ error: error.message }));

  const server = app.listen(port, '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await cache.quit();
    await db.end();
  };
  return { port: server.address().port, stop };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { stop } = await start(settings.port);
  process.on('SIGTERM', () => stop().then(() => process.exit(0)));
}
