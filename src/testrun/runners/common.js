// Common part of the bundled reporters, which precedes each of them. They write the events of
// src/testrun/reports/events.rs to the file in REPLAY_TEST_REPORT. Each imports `fs` itself.

const MAX_TEXT = 16384
const MAX_RELATED = 10
// Beyond this limit only names and states are written.
const MAX_DETAIL_CHARS = 32 * 1024 * 1024

const cut = (text) => (text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text)

function shown(value) {
  if (value === undefined) return undefined
  if (typeof value === 'string') return cut(value)
  try {
    return cut(JSON.stringify(value) ?? String(value))
  } catch {
    return cut(String(value))
  }
}

class EventFile {
  constructor() {
    this.written = 0
    const file = process.env.REPLAY_TEST_REPORT
    // Processes started by tests must not write there.
    delete process.env.REPLAY_TEST_REPORT
    this.fd = file ? fs.openSync(file, 'a') : undefined
  }

  write(event) {
    if (this.fd === undefined) return
    if (this.written > MAX_DETAIL_CHARS) {
      const isTest = event.event === 'test' || event.event === 'attempt'
      event = { ...event, errors: event.errors?.slice(0, isTest ? 0 : 1) }
      if (isTest) event = { ...event, stdout: undefined, stderr: undefined }
    }
    const line = JSON.stringify(event) + '\n'
    this.written += line.length
    fs.writeSync(this.fd, line)
  }
}

const isObject = (value) => value !== null && typeof value === 'object'

// The frames of a stack, without the message.
const frames = (stack) => cut(String(stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).join('\n'))

// A thrown value in the form of an event.
function thrown(error, hasValues = isObject(error) && 'actual' in error && 'expected' in error) {
  if (!isObject(error)) return { message: shown(error) ?? 'undefined' }
  return {
    type: shown(error.name),
    message: shown(error.message) ?? '',
    expected: hasValues ? shown(error.expected) : undefined,
    actual: hasValues ? shown(error.actual) : undefined,
    trace: frames(error.stack),
    cause: error.cause === undefined ? undefined : shown(error.cause?.message ?? error.cause),
    related: related(error),
  }
}

// Causes of an error, and the members of an `AggregateError`.
function related(error) {
  const found = []
  const queue = [error]
  while (queue.length && found.length < MAX_RELATED) {
    const one = queue.shift()
    const named = [['caused by', one.cause], ...[one.errors ?? []].flat().map((member) => ['in it', member])]
    for (const [lead, other] of named) {
      if (!isObject(other) || queue.includes(other) || found.length >= MAX_RELATED) continue
      queue.push(other)
      const type = `${lead} ${shown(other.name) ?? 'error'}`
      found.push({ type, message: shown(other.message) ?? '', trace: frames(other.stack) })
    }
  }
  return found.length ? found : undefined
}

