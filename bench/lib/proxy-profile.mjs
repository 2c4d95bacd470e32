import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const TOP = 40;
const NOT_WORK = new Set(['(idle)', '(root)']);

/**
 * Summarizes where the main thread of a profiled process spent its time, in percent of its busy time: by package,
 * including the time in Node and V8 that the package caused, and self time by function.
 * @param {string} folder the value of `--cpu-prof-dir`
 * @param {number} since ignores earlier samples; in microseconds of the monotonic clock, which V8 also uses
 */
export async function topOfProfile(folder, since) {
  // CPU.<date>.<time>.<pid>.<thread>.<sequence>.cpuprofile; thread 0 is the main one.
  const file = (await readdir(folder)).find((name) => name.split('.')[4] === '0');
  if (file === undefined) return `No profile of the main thread in ${folder}.`;
  const profile = JSON.parse(await readFile(join(folder, file), 'utf8'));
  const micros = selfTimes(profile, since);
  const causes = causesOf(profile.nodes);
  const [byCause, byFunction] = [new Map(), new Map()];
  let total = 0;
  for (const { id, callFrame } of profile.nodes) {
    const self = micros.get(id) ?? 0;
    if (NOT_WORK.has(callFrame.functionName)) continue;
    total += self;
    add(byCause, causes.get(id), self);
    add(byFunction, `${callFrame.functionName || '(anonymous)'}  ${placeOf(callFrame)}`, self);
  }
  const list = (times) =>
    [...times]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, TOP)
      .map(([name, self]) => `${((self / total) * 100).toFixed(1).padStart(5)} %  ${name}`)
      .join('\n');
  return `Time by package\n${list(byCause)}\n\nSelf time by function\n${list(byFunction)}`;
}

/** Microseconds by node. */
function selfTimes({ samples, timeDeltas, startTime }, since) {
  const micros = new Map();
  let at = startTime;
  samples.forEach((id, i) => {
    at += timeDeltas[i];
    if (at >= since) add(micros, id, timeDeltas[i]);
  });
  return micros;
}

/**
 * Maps each node to the package of the innermost frame on its stack that belongs neither to Node nor to native code.
 */
function causesOf(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const causes = new Map();
  const visit = ({ id, callFrame, children = [] }, inherited) => {
    const cause = packageOf(callFrame) ?? inherited;
    causes.set(id, cause ?? (callFrame.functionName || '(anonymous)'));
    for (const child of children) visit(byId.get(child), cause);
  };
  visit(nodes[0], undefined);
  return causes;
}

function add(times, name, self) {
  times.set(name, (times.get(name) ?? 0) + self);
}

/** `@scope/name` of a dependency, or the file of the service's own code; undefined for Node and V8. */
function packageOf({ url }) {
  if (!url.startsWith('file:') && !url.startsWith('/')) return undefined;
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /\/(dist\/.*)/.exec(url)?.[1] ?? url;
}

function placeOf({ url, lineNumber }) {
  return url === '' ? '' : `${url.replace(/^.*\/(node_modules|dist)\//, '$1/')}:${lineNumber + 1}`;
}
