FLUSH PRIVILEGES;

CREATE DATABASE shop;

CREATE DATABASE other;

CREATE USER app IDENTIFIED BY 'PASSWORD';

GRANT ALL ON shop.* TO app;

GRANT ALL ON other.* TO app;

USE shop;

CREATE TABLE orders (id int AUTO_INCREMENT PRIMARY KEY, tenant varchar(20), item varchar(40));

INSERT INTO orders (tenant, item) VALUES ('t1', 'of t1'), ('t2', 'of t2'), ('t3', 'of t3');

CREATE TABLE other.orders (item varchar(40));

INSERT INTO other.orders VALUES ('of other');

CREATE DEFINER = app FUNCTION tenant() RETURNS varchar(20) DETERMINISTIC RETURN @tenant;

CREATE DEFINER = app VIEW own_orders AS SELECT id, item FROM orders WHERE tenant = tenant();

CREATE DEFINER = app PROCEDURE set_tenant(t varchar(20)) SET @tenant = t;

CREATE DEFINER = app PROCEDURE enter(t varchar(20)) SET @tenant = t;

CREATE DEFINER = app FUNCTION login_as(t varchar(20)) RETURNS int BEGIN SET @tenant = t; RETURN 1; END;

CREATE DEFINER = app FUNCTION hello(t varchar(20)) RETURNS int BEGIN SET @tenant = t; RETURN 1; END;
