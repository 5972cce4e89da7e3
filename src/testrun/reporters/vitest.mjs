// Writes what Vitest (3.2 and newer) does as JSON lines, each as it happens, to the file that REPLAY_TEST_REPORT names:
// a run that is ended half-way leaves what was known until then.
//
//   {"ev":"init","version","root"}            the run begins
//   {"ev":"file_start","file"}                a file is being loaded
//   {"ev":"collected","file","tests"}         so many tests are in it
//   {"ev":"start","id"}                       a test begins
//   {"ev":"test", ...}                        it has ended
//   {"ev":"file_end","file","state","errors"} the file has ended; errors of suites' hooks name their suite
//   {"ev":"end","reason","errors"}            the run has ended; errors belong to no test
import fs from 'node:fs'
import path from 'node:path'

const MAX_TEXT = 16384
const MAX_FRAMES = 20
const MAX_LOGS = 100
// Beyond it only names and states are written.
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

export default class {
  written = 0
  logs = new Map()
  begun = new Set()
  told = new Set()
  ended = new Set()

  onInit(vitest) {
    this.root = vitest.config?.root ?? process.cwd()
    const file = process.env.REPLAY_TEST_REPORT
    // What tests start is not to write there.
    delete process.env.REPLAY_TEST_REPORT
    this.fd = file ? fs.openSync(file, 'a') : undefined
    this.write({ ev: 'init', version: vitest.version, root: this.root })
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
      // Syntax errors of the bundler have their place here.
      loc: error.loc && { file: error.loc.file ?? error.id, line: error.loc.line, column: error.loc.column },
    }
  }

  // Paths are told from Vitest's own root, which need not be the directory that it was started in.
  path(module) {
    return path.isAbsolute(module.moduleId) ? module.moduleId : undefined
  }

  file(module) {
    return module.relativeModuleId ?? path.relative(this.root, module.moduleId)
  }

  // Vitest reads the same file once for each project.
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
    // Tests that never began, because a hook before them failed, are told nowhere else.
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
    // A file whose environment is missing never starts and never ends.
    const open = modules.filter((module) => module.state() === 'pending' || module.state() === 'queued')
    // Vitest 3 does not say that a file has ended which could not be loaded.
    for (const module of modules) if (!open.includes(module)) this.onTestModuleEnd(module)
    this.write({
      ev: 'end',
      reason,
      files: modules.length,
      open: open.slice(0, 100).map((module) => this.file(module)),
      errors: errors.slice(0, 20).map((error) => ({ ...this.error(error), type: error?.type })),
    })
  }
}
