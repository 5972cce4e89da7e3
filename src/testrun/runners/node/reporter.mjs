// Reporter of Node's own test runner (Node 18 and newer).
import fs from 'node:fs'
import path from 'node:path'

const MAX_STDERR = 65536
const MAX_LINES = 40

const isFiltered = process.execArgv.some((word) => /^--test-((name|skip)-pattern|only)/.test(word))
// Any other file is a plain script, which counts as a test.
const USES_RUNNER = /node:test|\b(?:test|it|describe|suite)\s*\(/
// In the runner's words, what ended a test or a suite together with an enclosing one.
const CANCELLED = 'cancelledByParent'
const ENDS_CHILDREN = ['hookFailed', CANCELLED]

const isSet = (value) => value !== undefined && value !== false
const failureOf = (data) => data.details?.error?.failureType
const keyOf = ({ nesting, line, column, name }) => `${nesting}:${line}:${column}:${name}`

class File {
  constructor(file) {
    this.path = file
    this.tests = 0
    this.stderr = ''
    this.errors = []
    // Names of the suites and tests around the present one, by nesting: as they begin, and as the
    // runner reports them.
    this.begun = []
    this.reported = []
    // Tests that began and are not reported, with their suites.
    this.running = []
    // Tests and suites that their parent may have cancelled.
    this.cancelled = []
    // `true` if no more than its tests is to come.
    this.isComplete = false
    this.isEnded = false
  }
}

class Report extends EventFile {
  files = new Map()
  entries = new Set()
  late = []
  passed = true

  constructor() {
    super()
    this.write({ event: 'run_start', version: process.version.slice(1) })
  }

  // The file that runs. A test may be declared in another one, which Node before 26 reports alone.
  fileOf(data) {
    // Output has relative paths in Node 22.
    const declared = path.resolve(data.file ?? this.current?.path ?? '')
    const isKnown = !this.entries.size || this.entries.has(declared)
    const name = data.entryFile ?? (isKnown ? declared : (this.current?.path ?? declared))
    const file = this.files.get(name) ?? new File(name)
    this.files.set(name, file)
    return file
  }

  on(type, data) {
    // Each file is a test, too.
    const isEntry = data.nesting === 0 && data.file !== undefined && path.resolve(data.name ?? '') === data.file
    if (type === 'stderr') this.addOutput(data)
    if (type === 'diagnostic' && /^(Error|Warning): Test "/.test(data.message)) this.late.push(data.message)
    if (type === 'enqueue' && isEntry) {
      this.entries.add(data.file)
      this.write({ event: 'planned', files: [{ file: data.file }] })
    }
    if (type === 'dequeue') isEntry ? this.write({ event: 'file_start', file: data.file }) : this.begin(data)
    if (type === 'start' && !isEntry) this.fileOf(data).reported[data.nesting] = data.name
    if (type === 'complete') isEntry ? this.complete(data) : this.attempt(data)
    if (type === 'pass' || type === 'fail') isEntry ? this.endEntry(type, data) : this.result(type, data)
  }

  addOutput(data) {
    const file = this.fileOf(data)
    file.stderr = (file.stderr + data.message).slice(-MAX_STDERR)
  }

  begin(data) {
    const file = this.fileOf(data)
    file.begun[data.nesting] = data.name
    const suite = file.begun.slice(0, data.nesting)
    file.running.push({ key: keyOf(data), suite })
    if (data.type !== 'suite') this.write({ event: 'test_start', file: file.path, suite, name: data.name })
  }

  // Node reports a test only after all earlier ones of all files.
  attempt(data) {
    const file = this.fileOf(data)
    const running = file.running.find(({ key }) => key === keyOf(data))
    if (running && data.details?.type !== 'suite') {
      const type = data.details?.passed === false ? 'fail' : 'pass'
      this.write({ ...this.event(type, data, file, running.suite), event: 'attempt' })
    }
  }

  complete(data) {
    const file = this.fileOf(data)
    file.isComplete = file.tests + file.running.length > 0 && (data.details?.passed || failureOf(data) === 'subtestsFailed')
    this.endIfDone(file)
  }

  event(type, data, file, suite) {
    return {
      event: 'test',
      file: file.path,
      suite,
      name: data.name,
      state: this.state(type, data),
      ms: data.details?.duration_ms,
      line: data.line,
      column: data.column,
      errors: type === 'fail' && !isSet(data.todo) ? [this.error(data)] : [],
    }
  }

  state(type, data) {
    if (isSet(data.skip)) return 'skipped'
    if (isSet(data.todo)) return 'todo'
    if (type === 'pass') return isSet(data.expectFailure) ? 'expected_failure' : 'passed'
    if (failureOf(data) === 'testTimeoutFailure') return 'timed_out'
    return ENDS_CHILDREN.includes(failureOf(data)) ? 'errored' : 'failed'
  }

  // The runner wraps what was thrown.
  error(data) {
    const error = data.details.error
    const own = isObject(error?.cause) ? thrown(error.cause) : { ...thrown(error), type: undefined, cause: undefined }
    return failureOf(data) === 'hookFailed' ? { ...own, message: `${error.message}: ${own.message}` } : own
  }

  result(type, data) {
    const file = this.fileOf(data)
    this.current = file
    const { nesting } = data
    const suite = file.reported.slice(0, nesting)
    const at = file.running.findIndex(({ key }) => key === keyOf(data))
    if (at >= 0) file.running.splice(at, 1)
    file.tests += 1
    const isFailed = type === 'fail' && !isSet(data.todo)
    if (isFailed) this.passed = false
    this.release(file, nesting, isFailed && ENDS_CHILDREN.includes(failureOf(data)))
    const isSuite = data.details?.type === 'suite'
    const event = isSuite ? undefined : this.event(type, data, file, suite)
    const error = isSuite && isFailed && failureOf(data) !== 'subtestsFailed'
      ? { ...this.error(data), suite: [...suite, data.name] }
      : undefined
    if (isFailed && failureOf(data) === CANCELLED) file.cancelled.push({ nesting, event, error })
    else this.add(file, event, error)
    this.endIfDone(file)
  }

  add(file, event, error) {
    if (event) this.write(event)
    if (error) file.errors.push(error)
  }

  // The parent of cancelled tests is known: either it failed itself, or they outlived it.
  release(file, nesting, isParentAtFault) {
    for (const { event, error } of file.cancelled.filter((one) => one.nesting > nesting)) {
      if (isParentAtFault) this.add(file, event && { ...event, state: 'not_run', errors: [] })
      else this.add(file, event, error)
    }
    file.cancelled = file.cancelled.filter((one) => one.nesting <= nesting)
  }

  // Result of a file as a whole, which Node reports if its process failed or had no test.
  endEntry(type, data) {
    const file = this.fileOf(data)
    this.current = file
    if (type === 'fail' && failureOf(data) !== 'subtestsFailed') {
      this.passed = false
      const { exitCode, signal } = data.details?.error ?? {}
      const ending = signal ? `was ended by ${signal}` : `ended with exit code ${exitCode}`
      file.errors.push(this.processError(file, ending))
      file.running = signal ? file.running : []
    } else if (type === 'pass' && file.tests === 0 && !isFiltered && !this.usesRunner(file.path)) {
      file.tests += 1
      this.write({ ...this.event(type, data, file, []), name: path.basename(file.path), line: undefined, column: undefined })
    }
    file.isComplete = true
    this.endIfDone(file)
  }

  usesRunner(file) {
    try {
      return USES_RUNNER.test(fs.readFileSync(file, 'utf8'))
    } catch {
      return true
    }
  }

  // The error with which Node ended a process, from stderr.
  processError(file, ending) {
    const lines = file.stderr.split('\n')
    const isError = (line) => /^(Uncaught )?[\w.]*(Error|Exception)\b/.test(line)
    const first = lines.findLastIndex(isError)
    const said = first < 0 ? lines.slice(-MAX_LINES) : lines.slice(first, first + MAX_LINES)
    const isText = (line) => line.trim() && !/^\s+at |^Node\.js v|^[{}]/.test(line)
    const own = lines.find((line) => line.startsWith(`${file.path}:`))
    return {
      message: [...this.late.splice(0), ...said.filter(isText), `the process of the file ${ending}`].join('\n'),
      line: Number(own?.slice(file.path.length + 1).split(':')[0]) || undefined,
      trace: frames(said.join('\n')),
    }
  }

  // An exit in the middle loses the results that are not reported yet.
  checkExit(file) {
    const [, told] = file.stderr.match(/^replay-exit (.*)$/m) ?? []
    if (!told || file.isEnded) return
    const exit = JSON.parse(told)
    if (path.resolve(exit.file) !== file.path) return
    this.passed = false
    file.running = []
    const trace = frames(exit.stack).split('\n').slice(1).join('\n')
    file.errors.push({ message: 'process.exit(0) ended the file: the results of its last tests may be lost', trace })
  }

  endIfDone(file, isLast) {
    if (isLast || file.isComplete) this.checkExit(file)
    const isDone = isLast ? file.running.length === 0 : file.isComplete && file.running.length === 0
    if (file.isEnded || !isDone) return
    file.isEnded = true
    this.release(file, -1, false)
    this.write({ event: 'file_end', file: file.path, tests: file.tests, errors: file.errors.slice(0, MAX_RELATED) })
  }

  end() {
    for (const file of this.files.values()) this.endIfDone(file, true)
    this.write({ event: 'end', passed: this.passed })
  }
}

// A reporter without text: the others print it.
export default async function* (source) {
  const report = new Report()
  for await (const { type, data } of source) report.on(type.slice('test:'.length), data ?? {})
  report.end()
}
