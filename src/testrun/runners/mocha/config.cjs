// Configuration of Mocha for named files: the project's own without its `spec`, to which Mocha would
// add them.
const fs = require('fs')

const HOME = fs.realpathSync(process.argv[1]).replace(/\/(bin|lib\/cli)\/[^/]*$/, '')
const options = `${HOME}/lib/cli/options.`
const { loadRc, loadPkgRc } = require(options + (fs.existsSync(`${options}cjs`) ? 'cjs' : 'js'))

const args = process.argv.slice(2).flatMap((word) => word.split(/=(.*)/s, 2))
const given = (name) => args[args.indexOf(name) + 1 || args.length]
const own = given('--config') === __filename ? undefined : given('--config')
const { spec, ...settings } = { ...loadPkgRc({ package: given('--package') }), ...loadRc({ config: own }) }

module.exports = settings
