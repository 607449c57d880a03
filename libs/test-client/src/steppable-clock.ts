/**
 * Loaded into a server process by `--import`: each SIGWINCH steps its clock, an hour ahead and back again in turn, as
 * an administrator or a broken time server would.
 */
const hourMs = 3_600_000;
const systemNow = Date.now.bind(Date);
let offMs = 0;
Date.now = () => systemNow() + offMs;
process.on('SIGWINCH', () => {
  offMs = offMs === 0 ? hourMs : 0;
});
