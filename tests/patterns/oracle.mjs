// Asks Node what patterns match.
//
//   node oracle.mjs cases FILE       each line of FILE, {p, i, s}, with the answer
//   node oracle.mjs fuzz SEED COUNT  COUNT random cases with their answers
//
// An answer is one line of JSON: {p, i, s} and either
//   err    why the pattern is refused, or
//   m      all matches, each a list of spans: of the whole, then of each group (null if it took no part)
//   lines  for each line of s, whether the pattern matches in it; nothing in the pattern matches its \n.
// Spans are byte offsets into UTF-8. The answers follow the four rules in which this project differs from JavaScript:
//   - `^` does not match between \r and \n (the pattern is rewritten);
//   - a character is one code point (characters beyond U+FFFF are replaced by private ones while Node looks);
//   - there is no empty match behind a final \n;
//   - a search of lines sees one line at a time, its \r included, and a \n behind it.
// A case that takes Node longer than 400 ms is left out.

import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { pattern, randomFrom, text } from './generate.mjs';

const LIMIT_MS = 400;
const sandbox = vm.createContext({});
const search = new vm.Script(`(() => {
  const found = [];
  for (const m of s.matchAll(new RegExp(p, f))) found.push(Array.from(m.indices, (span) => span ?? null));
  return JSON.stringify(found);
})()`);

function run(p, f, s) {
  Object.assign(sandbox, { p, f, s });
  return JSON.parse(search.runInContext(sandbox, { timeout: LIMIT_MS }));
}

/** Each `^` that is an assertion, replaced. */
function withStart(source, start) {
  let out = '';
  for (let at = 0; at < source.length; at += 1) {
    const c = source[at];
    if (c === '\\') {
      out += c + (source[at + 1] ?? '');
      at += 1;
    } else if (c === '[') {
      let end = at + 1;
      while (source[end] !== ']') end += source[end] === '\\' ? 2 : 1;
      out += source.slice(at, end + 1);
      at = end;
    } else {
      out += c === '^' ? start : c;
    }
  }
  return out;
}

const standIns = new Map();

/** Every character beyond U+FFFF, written out or as two escapes, as a private one, the same in all texts. */
function narrow(source) {
  const pair = /\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/gi;
  const whole = source.replace(pair, (_, lead, trail) => String.fromCharCode(parseInt(lead, 16), parseInt(trail, 16)));
  return whole.replace(/[\u{10000}-\u{10ffff}]/gu, (c) => {
    if (!standIns.has(c)) standIns.set(c, String.fromCharCode(0xe000 + standIns.size));
    return standIns.get(c);
  });
}

/** Byte offsets of all places of `s`, of which `shape` has one unit for each character. */
function offsets(s) {
  const places = [0];
  for (const c of s) places.push(places.at(-1) + Buffer.byteLength(c));
  return places;
}

function answer({ p, i, s }) {
  const flags = i ? 'gimd' : 'gmd';
  try {
    new RegExp(p, flags);
  } catch (error) {
    const reason = error.message.slice('Invalid regular expression: //'.length + p.length);
    return { p, i, err: reason.replace(/^\w+: /, '') };
  }
  const source = narrow(p);
  const place = offsets(s);
  const matches = run(withStart(source, '(?:^(?<!\\r(?=\\n)))'), flags, narrow(s))
    .filter(([[start, end]]) => !(start === end && s !== '' && s.endsWith('\n') && place[start] === place.at(-1)))
    .map((spans) => spans.map((span) => span && span.map((unit) => place[unit])));
  // A line that had a line feed has none behind it here, so that nothing can match it.
  const parts = narrow(s).split('\n');
  const inner = withStart(source, '(?:^(?<!\\r(?![^])))');
  const lines = parts.map((line, number) => run(number + 1 < parts.length ? inner : source, flags, line).length > 0);
  if (parts.at(-1) === '') lines.pop();
  return { p, i, s, m: matches, lines };
}

function* fuzz(seed, count) {
  const random = randomFrom(seed);
  for (let n = 0; n < count; n += 1) {
    const p = pattern(random);
    const i = random.chance(0.3);
    for (let k = 0; k < 3; k += 1) yield { p, i, s: text(random) };
  }
}

function* cases(file) {
  for (const line of readFileSync(file, 'utf8').split('\n')) if (line !== '') yield JSON.parse(line);
}

const [mode, first, second] = process.argv.slice(2);
const out = [];
for (const question of mode === 'fuzz' ? fuzz(Number(first), Number(second)) : cases(first)) {
  try {
    out.push(JSON.stringify(answer(question)));
  } catch (error) {
    if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
}
process.stdout.write(`${out.join('\n')}\n`);
