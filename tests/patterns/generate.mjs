// Random patterns and texts. A pattern is made as a tree and printed, so that it is nearly always valid.

/** A repeatable source of random numbers (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  return { below, chance: (p) => next() < p, pick: (list) => list[below(list.length)] };
}

const TEXT = ['a', 'a', 'b', 'b', '\n', '\r', '\r\n', 'é', '😀', '_', 'A', '\u2028', ' '];
const LITERALS = ['a', 'a', 'b', 'b', 'A', '_', ' ', 'é', '\\xe9', '😀', '\\n', '\\r', 'É', '\\u0061', '\\-'];
const CLASSES = ['.', '.', '\\w', '\\W', '\\d', '\\D', '\\s', '\\S', '[^]', '[]', '[ab]', '[^a]', '[^\\n]', '[a-c_]',
  '[\\w-]', '[^\\W_]', '[\\s\\S]', '[é😀]', '[^é]', '[\\x00-\\x7f]', '[^\\x00-\\x7f]', '[A-Z]', '[\\xA0-\\uFFFF]'];
const ASSERTIONS = ['^', '$', '\\b', '\\B'];
const QUANTIFIERS = ['*', '+', '?', '{2}', '{1,}', '{0,2}', '{1,3}', '{0}', '{2,3}', '{0,1}'];

// Node 20 does not know them yet; all else is as old as the flag `d`.
const MODIFIERS = known('(?i:a)') ? ['i', '-i', 's', 'm', '-m', 'i-m', 's-i'] : [''];

function known(source) {
  try {
    return Boolean(new RegExp(source));
  } catch {
    return false;
  }
}

/** A text of up to `length` pieces. */
export function text(random, length = 12) {
  return Array.from({ length: random.below(length + 1) }, () => random.pick(TEXT)).join('');
}

/** A pattern of moderate size. */
export function pattern(random) {
  const state = { random, groups: 0, total: random.below(4), names: [] };
  return alternatives(state, 3);
}

function alternatives(state, depth) {
  const count = state.random.chance(0.7) ? 1 : 2 + state.random.below(2);
  return Array.from({ length: count }, () => sequence(state, depth)).join('|');
}

function sequence(state, depth) {
  const count = state.random.pick([0, 1, 1, 2, 2, 3, 4]);
  return Array.from({ length: count }, () => term(state, depth)).join('');
}

function term(state, depth) {
  const { random } = state;
  if (random.chance(0.12)) return random.pick(ASSERTIONS);
  if (depth > 0 && random.chance(0.08)) return `(?<${random.pick('=!')}${alternatives(state, depth - 1)})`;
  const quantifier = random.chance(0.4) ? random.pick(QUANTIFIERS) + (random.chance(0.3) ? '?' : '') : '';
  return atom(state, depth) + quantifier;
}

function atom(state, depth) {
  const { random } = state;
  const kind = random.below(depth > 0 ? 20 : 11);
  if (kind < 6) return random.pick(LITERALS);
  if (kind < 10) return random.pick(CLASSES);
  if (kind < 11) return reference(state);
  if (kind < 14) return `(?:${alternatives(state, depth - 1)})`;
  if (kind < 15) return `(?${random.pick(MODIFIERS)}:${alternatives(state, depth - 1)})`;
  if (kind < 16) return `(?${random.pick('=!')}${alternatives(state, depth - 1)})`;
  state.groups += 1;
  if (kind < 17 && state.names.length < 3) {
    const name = `n${state.names.length}`;
    state.names.push(name);
    return `(?<${name}>${alternatives(state, depth - 1)})`;
  }
  return `(${alternatives(state, depth - 1)})`;
}

function reference(state) {
  const { random } = state;
  if (state.names.length > 0 && random.chance(0.3)) return `\\k<${random.pick(state.names)}>`;
  return `(?:\\${1 + random.below(state.groups + 1)})`;
}
