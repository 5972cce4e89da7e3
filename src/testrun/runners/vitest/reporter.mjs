// Vitest reporter (3.2 and newer). Writes events as JSON lines, each as it happens, to the file in
// REPLAY_TEST_REPORT: after an aborted run the earlier events are still there.
//
//   {"ev":"init","version","root","closes"}   the run begins; true if `closed` is its last event
//   {"ev":"left_out","options"}               tests that the project's configuration excludes
//   {"ev":"takes","options"}                  its patterns for test files
//   {"ev":"planned","planned"}                the files that will run: `file` and `project` as in the events of each
//   {"ev":"file_start","file"}                a file is being loaded
//   {"ev":"collected","file","tests"}         number of tests in the file
//   {"ev":"start","id"}                       a test begins
//   {"ev":"test", ...}                        it has ended
//   {"ev":"file_end","file","state","errors"} the file has ended; errors of suites' hooks name their suite
//   {"ev":"end","reason","errors","snapshots"} the run has ended; errors belong to no test; snapshots that are new
//   {"ev":"failed","errors"}                  an error outside of that, such as in a global set-up
//   {"ev":"closed","errors"}                  the tear-down has ended
import fs from 'node:fs'
import path from 'node:path'

const OWN_NAME = path.basename(import.meta.url)
const MAX_TEXT = 16384
const MAX_FRAMES = 20
const MAX_LOGS = 100
const MAX_RELATED = 10
const MAX_OPTIONS = 20
const MAX_PLANNED = 2000
// Beyond this limit only names and states are written.
const MAX_DETAIL_CHARS = 32 * 1024 * 1024

// Default exclusions of Vitest 3 to 5.
const USUAL = new Set([
  '**/node_modules/**',
  '**/.git/**',
  '**/dist/**',
  '**/cypress/**',
  '**/.{idea,git,cache,output,temp}/**',
  '**/{karma,rollup,webpack,vite,vitest,jest,ava,babel,nyc,cypress,tsup,build,eslint,prettier}.config.*',
])

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

export default class {
  written = 0
  logs = new Map()
  begun = new Set()
  told = new Set()
  ended = new Set()
  unhandled = []
  isClosed = false

  onInit(vitest) {
    this.root = vitest.config?.root ?? process.cwd()
    this.snapshot = vitest.snapshot
    const file = process.env.REPLAY_TEST_REPORT
    // Processes started by tests must not write there.
    delete process.env.REPLAY_TEST_REPORT
    this.fd = file ? fs.openSync(file, 'a') : undefined
    this.write({ ev: 'init', version: vitest.version, root: this.root, closes: this.watchClose(vitest) })
    this.watchFailure(vitest.logger)
    const options = this.leftOut(vitest)
    if (options.length) this.write({ ev: 'left_out', options })
    this.write({ ev: 'takes', options: this.takes(vitest) })
  }

  takes(vitest) {
    const found = new Set()
    const projects = (vitest.projects ?? []).map((project) => project.config)
    for (const config of projects.length ? projects : [vitest.config]) {
      if (config?.dir && config.dir !== this.root) found.add(`dir: ${shown(path.relative(this.root, config.dir))}`)
      for (const glob of config?.include ?? []) found.add(`include: ${shown(glob)}`)
    }
    return [...found].slice(0, MAX_OPTIONS)
  }

  leftOut(vitest) {
    const found = new Set()
    const isAsked = process.argv.some((word) => word.startsWith('--testNamePattern') || word === '-t')
    for (const config of [vitest.config, ...(vitest.projects ?? []).map((project) => project.config)]) {
      for (const glob of config?.exclude ?? []) if (!USUAL.has(glob)) found.add(`exclude: ${shown(glob)}`)
      if (config?.testNamePattern && !isAsked) found.add(`testNamePattern: ${shown(String(config.testNamePattern))}`)
      for (const tag of config?.tagsFilter ?? []) found.add(`tagsFilter: ${shown(tag)}`)
    }
    return [...found].slice(0, MAX_OPTIONS)
  }

  // Global set-ups are torn down after the end event. The exit code need not show their errors.
  watchClose(vitest) {
    const close = vitest.close
    if (typeof close !== 'function') return undefined
    vitest.close = async (...args) => {
      const { logger } = vitest
      const log = logger.error
      const errors = []
      logger.error = (...words) => {
        if (words[0] === 'error during close') errors.push(words[1])
        return log.apply(logger, words)
      }
      try {
        return await close.apply(vitest, args)
      } catch (error) {
        errors.push(error)
        throw error
      } finally {
        logger.error = log
        this.closed(errors)
      }
    }
    return true
  }

  // Errors before the first test are printed, and not passed to reporters.
  watchFailure(logger) {
    const print = logger?.printError
    if (typeof print !== 'function') return
    logger.printError = (error, options, ...rest) => {
      const isTold = options?.type !== 'Unhandled Error' || this.unhandled.includes(error)
      if (!isTold) this.write({ ev: 'failed', errors: [{ ...this.error(error), type: options.type }] })
      return print.call(logger, error, options, ...rest)
    }
  }

  closed(errors) {
    if (this.isClosed) return
    this.isClosed = true
    // Omit the frames of this file.
    const foreign = (line) => !line.includes(OWN_NAME)
    const told = errors.slice(0, 20).map((error) => {
      const { stack, ...rest } = this.error(error)
      return { ...rest, stack: stack?.split('\n').filter(foreign).join('\n') }
    })
    this.write({ ev: 'closed', errors: told })
  }

  // Open handles keep Vitest from ending: the tests have ended, and Vitest counts that as success.
  onProcessTimeout() {
    this.closed([])
  }

  write(event) {
    if (this.fd === undefined) return
    if (this.written > MAX_DETAIL_CHARS) {
      for (const key of ['errors', 'logs']) {
        if (event[key]?.length) event[key] = event.ev === 'test' ? [] : event[key].slice(0, 1)
      }
    }
    const line = JSON.stringify(event) + '\n'
    this.written += line.length
    fs.writeSync(this.fd, line)
  }

  error(error) {
    if (error === null || typeof error !== 'object') return { message: shown(error) ?? 'undefined' }
    return {
      name: shown(error.name),
      message: shown(error.message) ?? '',
      expected: shown(error.expected),
      actual: shown(error.actual),
      diff: shown(error.diff),
      stacks: error.stacks
        ?.slice(0, MAX_FRAMES)
        .map(({ file, line, column, method }) => ({ file, line, column, method: method || undefined })),
      // Vitest 3 leaves `stacks` empty.
      stack: error.stacks?.length ? undefined : shown(error.stack),
      cause: error.cause === undefined ? undefined : shown(error.cause?.message ?? error.cause),
      related: this.related(error),
      // The bundler puts the place of syntax errors here.
      loc: error.loc && { file: error.loc.file ?? error.id, line: error.loc.line, column: error.loc.column },
    }
  }

  // Causes of an error, and the members of an `AggregateError`.
  related(error) {
    const found = []
    const queue = [error]
    while (queue.length && found.length < MAX_RELATED) {
      const one = queue.shift()
      const named = [['caused by', one.cause], ...[one.errors ?? []].flat().map((member) => ['in it', member])]
      for (const [lead, other] of named) {
        if (other === null || typeof other !== 'object' || queue.includes(other) || found.length >= MAX_RELATED) continue
        queue.push(other)
        const name = `${lead} ${shown(other.name) ?? 'error'}`
        found.push({ name, message: shown(other.message) ?? '', stack: shown(other.stack) })
      }
    }
    return found.length ? found : undefined
  }

  // Paths are relative to Vitest's own root, which may differ from its working directory.
  path(module) {
    return path.isAbsolute(module.moduleId) ? module.moduleId : undefined
  }

  file(module) {
    return module.relativeModuleId ?? path.relative(this.root, module.moduleId)
  }

  // Vitest runs a file once for each project.
  project(module) {
    return module.project?.name || undefined
  }

  suites(task) {
    const names = []
    for (let parent = task.parent; parent?.type === 'suite'; parent = parent.parent) names.unshift(parent.name)
    return names
  }

  onUserConsoleLog(log) {
    const key = log.taskId ?? ''
    const logs = this.logs.get(key) ?? []
    if (logs.length < MAX_LOGS) logs.push({ stream: log.type, text: cut(log.content) })
    this.logs.set(key, logs)
  }

  onTestRunStart(specifications) {
    const planned = specifications.slice(0, MAX_PLANNED).map((specification) => ({
      file: path.relative(this.root, specification.moduleId),
      project: this.project(specification),
    }))
    this.write({ ev: 'planned', planned })
  }

  onTestModuleQueued(module) {
    this.write({ ev: 'file_start', file: this.file(module), path: this.path(module), project: this.project(module) })
  }

  onTestModuleCollected(module) {
    const tests = [...module.children.allTests()].length
    this.write({ ev: 'collected', file: this.file(module), path: this.path(module), project: this.project(module), tests })
  }

  onTestCaseReady(test) {
    this.begun.add(test.id)
    const project = this.project(test.module)
    this.write({ ev: 'start', file: this.file(test.module), project, suite: this.suites(test), name: test.name })
  }

  onTestCaseResult(test) {
    if (this.told.has(test.id)) return
    this.told.add(test.id)
    const result = test.result()
    const diagnostic = test.diagnostic?.()
    const failed = result.state === 'failed'
    this.write({
      ev: 'test',
      file: this.file(test.module),
      project: this.project(test.module),
      suite: this.suites(test),
      name: test.name,
      state: result.state,
      mode: test.options?.mode,
      never: !this.begun.has(test.id) || undefined,
      ms: diagnostic?.duration,
      retries: diagnostic?.retryCount || undefined,
      line: test.location?.line,
      column: test.location?.column,
      errors: failed ? (result.errors ?? []).slice(0, 10).map((error) => this.error(error)) : undefined,
      logs: failed ? this.logs.get(test.id) : undefined,
    })
    this.logs.delete(test.id)
  }

  onTestModuleEnd(module) {
    if (this.ended.has(module)) return
    this.ended.add(module)
    // No other event reports tests that never began because a hook before them failed.
    for (const test of module.children.allTests()) this.onTestCaseResult(test)
    const errors = module.errors().map((error) => this.error(error))
    for (const suite of module.children.allSuites()) {
      const names = [...this.suites(suite), suite.name]
      for (const error of suite.errors()) errors.push({ ...this.error(error), suite: names })
    }
    this.write({
      ev: 'file_end',
      file: this.file(module),
      path: this.path(module),
      project: this.project(module),
      state: module.state(),
      errors: errors.slice(0, 10),
      logs: errors.length ? this.logs.get(module.id) : undefined,
    })
    this.logs.delete(module.id)
  }

  onTestRunEnd(modules, errors, reason) {
    this.unhandled = [...errors]
    // A file whose environment is missing never starts and never ends.
    const open = modules.filter((module) => module.state() === 'pending' || module.state() === 'queued')
    // Vitest 3 has no end event for a file that could not be loaded.
    for (const module of modules) if (!open.includes(module)) this.onTestModuleEnd(module)
    this.write({
      ev: 'end',
      reason,
      files: modules.length,
      open: open.slice(0, 100).map((module) => this.file(module)),
      errors: errors.slice(0, 20).map((error) => ({ ...this.error(error), type: error?.type })),
      snapshots: this.snapshot?.summary?.added,
    })
  }
}
