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

CREATE FUNCTION tenant() RETURNS varchar(20) DETERMINISTIC RETURN @tenant;

CREATE VIEW own_orders AS SELECT id, item FROM orders WHERE tenant = tenant();

CREATE PROCEDURE set_tenant(t varchar(20)) SET @tenant = t;

CREATE PROCEDURE enter(t varchar(20)) SET @tenant = t;

CREATE FUNCTION login_as(t varchar(20)) RETURNS int BEGIN SET @tenant = t; RETURN 1; END;

CREATE FUNCTION hello(t varchar(20)) RETURNS int BEGIN SET @tenant = t; RETURN 1; END;
