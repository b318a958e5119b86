#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Usage: run.mjs SFUMATO FOLDER [whole]
// Traces the kernels of the demo with the given executable and opens each trace in real viewers; what they must hold is what the simulator counted.
// FOLDER keeps the viewers' packages and the pictures between runs. 'whole' also checks the complete trace of the large matmul (minutes).
import { execFileSync, spawnSync } from 'node:child_process'; import fs from 'node:fs'; import path from 'node:path'; import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const [sfumato, folder, whole] = process.argv.slice(2);
if (!sfumato || !folder) { console.error('usage: run.mjs SFUMATO FOLDER [whole]'); process.exit(2); }
fs.mkdirSync(folder, { recursive: true });
for (const f of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(here, f), path.join(folder, f));
if (!fs.existsSync(path.join(folder, 'node_modules'))) execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });

const large = ['matmul_bias_relu', '--shape', 'm=2048,n=11008,k=4096', '--mode', 'time'];
const runs = [
  ['matmul', ['matmul_bias_relu', '--shape', 'm=100,n=955,k=1000'], true],
  ['swiglu', ['swiglu', '--shape', 'm=100,d=955'], true],
  ['window', [...large, '--trace-window', '20:60', '--trace-cores', '0,1,23'], false],
];
if (whole) runs.push(['whole', [...large, '--trace-slices', '10000000'], true]);
let failed = 0;
for (const [name, args, complete] of runs) {
  const file = path.join(folder, name + '.json.gz');
  const report = JSON.parse(execFileSync(sfumato, ['run', ...args, '--trace', file, '--json'], { maxBuffer: 1 << 28 }));
  const t = report.trace;
  // A slice per instruction, and one per core for the launch.
  const slices = complete ? report.sim.instructions + report.blocks : t.slices;
  console.log(`== ${name}: ${slices} slices`);
  if (!complete && t.slices > 50000) { console.log('FAIL the window holds more than 50000 slices'); failed++; }
  if (!complete && t.slices + t.left_out !== report.sim.instructions + report.blocks) { console.log('FAIL slices written and left out are not all slices'); failed++; }
  const expect = `slices=${slices},threads=${t.rows},flows=${t.arrows},series=${t.series},counters=${t.samples}`;
  const viewers = name === 'whole' ? 'catapult' : 'both';
  const check = spawnSync('node', [path.join(here, 'trace_view_check.mjs'), file, '--viewer', viewers, '--expect', expect, '--shot-dir', path.join(folder, name)], { cwd: folder, encoding: 'utf8' });
  process.stdout.write(check.stdout + check.stderr);
  if (check.status !== 0) failed++;
}
console.log(failed ? `${failed} failed` : 'all traces open');
process.exit(failed ? 1 : 0);
