// Tells the reporter that a test file itself ended its process with success, which Node counts as
// passed.
const fs = require('fs')
const { isMainThread } = require('worker_threads')

const exit = process.reallyExit
if (isMainThread && process.env.NODE_TEST_CONTEXT) {
  process.reallyExit = function (code, ...rest) {
    const { stack } = new Error()
    if (!code) fs.writeSync(2, `\nreplay-exit ${JSON.stringify({ file: process.argv[1], stack })}\n`)
    return exit.call(this, code, ...rest)
  }
}
