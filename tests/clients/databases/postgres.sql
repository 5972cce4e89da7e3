CREATE ROLE app LOGIN PASSWORD 'PASSWORD';

CREATE ROLE alice;

CREATE ROLE bob;

GRANT alice, bob TO app;

CREATE TABLE orders (id serial PRIMARY KEY, tenant text, item text);

INSERT INTO orders (tenant, item)
VALUES ('t1', 'of t1'), ('t2', 'of t2'), ('t3', 'of t3'), ('app', 'of app'), ('alice', 'of alice'), ('bob', 'of bob');

ALTER TABLE orders ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenants ON orders
USING (tenant = coalesce(nullif(current_setting('app.tenant', true), ''), current_user)) WITH CHECK (true);

CREATE VIEW own_orders AS SELECT item FROM orders WHERE tenant = current_setting('app.tenant', true);

CREATE FUNCTION set_tenant(t text) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN PERFORM set_config('app.tenant', t, false); END $$;

-- One whose name does not say what it does.
CREATE FUNCTION hello(t text) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN PERFORM set_config('app.tenant', t, false); END $$;

CREATE PROCEDURE enter(t text) LANGUAGE plpgsql
AS $$ BEGIN PERFORM set_config('app.tenant', t, false); END $$;

CREATE SCHEMA s1;

CREATE SCHEMA s2;

CREATE TABLE s1.words (word text);

CREATE TABLE s2.words (word text);

INSERT INTO s1.words VALUES ('of s1');

INSERT INTO s2.words VALUES ('of s2');

CREATE TABLE carts (id serial PRIMARY KEY, item text);

CREATE TABLE jobs (id uuid PRIMARY KEY, name text);

CREATE TABLE users (id int PRIMARY KEY, name text, password text, token text);

CREATE SEQUENCE numbers;

GRANT USAGE ON SCHEMA s1, s2 TO app;

GRANT ALL ON ALL TABLES IN SCHEMA public, s1, s2 TO app, alice, bob;

GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO app, alice, bob;
