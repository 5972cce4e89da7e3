const http = require('http'), dns = require('dns'), net = require('net');
const get = url => new Promise((done, failed) => http.get(url, answer => {
  let text = '';
  answer.on('data', piece => text += piece).on('end', () => done(text));
}).on('error', failed));
(async () => {
  console.log(await get('http://192.0.2.1:8001/'));
  console.log(await get('http://some.name.test:8002/'));
  console.log(await (await fetch('http://192.0.2.3:8003/')).text());
  const resolver = new dns.promises.Resolver();
  resolver.setServers(['192.0.2.53']);
  console.log(await resolver.resolve4('by.hand'));
  const socket = net.connect(8004, '192.0.2.4');
  await new Promise(done => socket.on('connect', done));
  console.log(socket.remoteAddress, socket.remotePort);
  socket.destroy();
})();
