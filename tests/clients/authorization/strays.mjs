// Refuses the connections of a program in node to other machines, and reports them in the file $STRAYS or on stdout.
//
// usage: node --import ./strays.mjs PROGRAM

import { appendFileSync } from "node:fs";
import { Socket } from "node:net";

const connect = Socket.prototype.connect;
Socket.prototype.connect = function (...given) {
  // Node passes its own calls on as one array.
  const [options] = Array.isArray(given[0]) ? given[0] : given;
  const host = options?.host ?? options?.path ?? "localhost";
  if (["127.0.0.1", "::1", "localhost"].includes(host)) return connect.apply(this, given);
  if (process.env.STRAYS) appendFileSync(process.env.STRAYS, `${host}\n`);
  else console.log(JSON.stringify({ strays: host }));
  return this.destroy(new Error("another machine"));
};
