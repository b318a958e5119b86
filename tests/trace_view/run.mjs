#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Usage: run.mjs SFUMATO FOLDER [whole]
// Traces the kernels of the demo with the given executable and opens each trace in real viewers; what they must hold is what the simulator counted.
// FOLDER keeps the viewers' packages and the pictures between runs. 'whole' takes the complete trace of the large run instead of a window (minutes).
// Exit: 0 all traces open, 1 one does not, 77 this machine cannot run the viewers (no package registry, chromium does not start): skipped.
import { execFileSync, spawnSync } from 'node:child_process'; import fs from 'node:fs'; import path from 'node:path'; import { fileURLToPath } from 'node:url';

const kSkipped = 77, kMostSlices = 50000;  // of a trace in everyday checks
const here = path.dirname(fileURLToPath(import.meta.url));
const [sfumato, folder, whole] = process.argv.slice(2);
if (!sfumato || !folder) { console.error('usage: run.mjs SFUMATO FOLDER [whole]'); process.exit(2); }
fs.mkdirSync(folder, { recursive: true });
const lock = fs.readFileSync(path.join(here, 'package-lock.json')), installed = path.join(folder, 'node_modules', 'installed.json');
if (!fs.existsSync(installed) || !fs.readFileSync(installed).equals(lock)) {
  for (const f of ['package.json', 'package-lock.json']) fs.copyFileSync(path.join(here, f), path.join(folder, f));
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, encoding: 'utf8' });
  if (npm.status !== 0) {
    console.log('SKIPPED: npm cannot install the viewers named in tests/trace_view/package-lock.json, so no trace was opened\n' + (npm.error ? npm.error.message : npm.stderr));
    process.exit(kSkipped);
  }
  fs.writeFileSync(installed, lock);
}

const large = ['matmul_bias_relu', '--shape', 'm=2048,n=11008,k=4096', '--then', 'swiglu', '--mode', 'time'];
const everyday = [
  ['ragged', ['matmul_bias_relu', '--shape', 'm=100,n=954,k=1000', '--then', 'swiglu'], true],
  ['merged_cores', ['matmul_bias_relu', '--shape', 'm=100,n=954,k=1000', '--chip', 'Ascend910A'], true],
  ['window', [...large, '--trace-window', '590:620', '--trace-cores', '0,1,23'], false],  // the end of the matmul and the begin of the swiglu
];
const runs = whole ? [['whole', large, true]] : everyday;
let failed = 0;
for (const [name, args, complete] of runs) {
  const file = path.join(folder, name + '.json.gz');
  const report = JSON.parse(execFileSync(sfumato, ['run', ...args, '--trace', file, '--json'], { maxBuffer: 1 << 28 }));
  const t = report.trace;
  // A slice per instruction, and for each launch one per core.
  const all = report.sim.instructions + report.launches.reduce((sum, l) => sum + l.blocks, 0), slices = complete ? all : t.slices;
  console.log(`== ${name}: ${slices} slices`);
  if (!whole && slices > kMostSlices) { console.log(`FAIL the trace holds more than ${kMostSlices} slices`); failed++; }
  if (t.slices + t.left_out !== all || (complete && t.left_out !== 0)) { console.log('FAIL slices written and left out are not all slices'); failed++; }
  const expect = `slices=${slices},threads=${t.rows},flows=${t.arrows},series=${t.series},counters=${t.samples}`;
  const shots = whole ? [] : ['--shot-dir', path.join(folder, name)];
  const check = spawnSync('node', [path.join(here, 'trace_view_check.mjs'), file, '--viewer', 'both', '--expect', expect, ...shots], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 });
  process.stdout.write(check.stdout + check.stderr);
  if (check.status === 2) { console.log('SKIPPED: the viewers cannot run here'); process.exit(failed ? 1 : kSkipped); }
  if (check.status !== 0) failed++;
}
console.log(failed ? `${failed} failed` : 'all traces open');
process.exit(failed ? 1 : 0);
