/**
 * `npm run sbom [-- <file>]`: writes a CycloneDX bill of the materials that ship, by default to `signalbox.cdx.json`:
 * the packages of production for all platforms, and those that are part of the console's files. Sends no requests.
 *
 * `npm sbom --omit dev` leaves out every package that a development dependency needs as well. This script takes npm's
 * bill of the complete lock and keeps what ships.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'vite';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MODULES = 'node_modules/';
/** How npm marks the packages of development. */
const DEVELOPMENT = 'cdx:npm:package:development';
/** Marks the packages that are part of the console's files, and not in `node_modules`. */
const BUNDLED = { name: 'signalbox:bundled', value: 'console' };

const [file = 'signalbox.cdx.json'] = process.argv.slice(2);
const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'));
const { name: project, devDependencies } = packages[''];
const installed = new Set(
  Object.entries(packages)
    .filter(([path, entry]) => path !== '' && !isOfDevelopment(path, entry))
    .map(([path]) => referenceOf(path)),
);
const bundled = new Set((await pathsInConsole()).map(referenceOf));

// Vite has set NODE_ENV to production by now, and npm would leave out the packages of development.
const { stdout } = await promisify(execFile)(
  'npm',
  ['sbom', '--package-lock-only', '--include', 'dev', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'],
  { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 },
);
const bill = JSON.parse(stdout);
// npm calls the project by the name of its folder.
bill.metadata.component.name = project;
bill.components = bill.components.filter((component) => ships(component['bom-ref'])).map(shipped);
bill.dependencies = bill.dependencies
  .filter(({ ref }) => ref === bill.metadata.component['bom-ref'] || ships(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(ships) }));

const found = new Set(bill.components.map((component) => component['bom-ref']));
const missing = [...installed.union(bundled)].filter((reference) => !found.has(reference));
if (missing.length > 0) throw new Error(`npm leaves out packages that ship: ${missing.join(', ')}.`);

await writeFile(resolve(file), `${JSON.stringify(bill, null, 2)}\n`);
console.log(`${resolve(file)}: ${installed.size} packages of production, ${bundled.size} in the console.`);

/** Whether only development needs a package. TypeScript is an optional peer of production. */
function isOfDevelopment(path, { dev, devOptional }) {
  return dev === true || (devOptional === true && Object.hasOwn(devDependencies, path.replace(MODULES, '')));
}

function ships(reference) {
  return installed.has(reference) || bundled.has(reference);
}

/** The component without the address that it was installed from, which differs between machines. */
function shipped(component) {
  const { externalReferences, properties = [], ...rest } = component;
  const others = properties.filter(({ name }) => name !== DEVELOPMENT);
  const references = externalReferences.filter(({ type }) => type !== 'distribution');
  const isBundled = bundled.has(component['bom-ref']);
  return {
    ...rest,
    ...(isBundled && { scope: 'required' }),
    ...(references.length > 0 && { externalReferences: references }),
    properties: isBundled ? [...others, BUNDLED] : others,
  };
}

/** The name that npm gives to the component of a path in the lock. */
function referenceOf(path) {
  const { name = path.split(MODULES).at(-1), version } = packages[path];
  return `${name}@${version}`;
}

/** The paths, as in the lock, of the packages that the console's files contain. */
async function pathsInConsole() {
  const web = join(ROOT, 'web');
  const options = { root: web, configFile: join(web, 'vite.config.ts'), logLevel: 'warn', build: { write: false } };
  const { output } = await build(options);
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => id.startsWith(join(ROOT, MODULES)));
  const paths = modules.map((id) => {
    const end = id.lastIndexOf(MODULES) + MODULES.length;
    const [first, second] = id.slice(end).split('/');
    return id.slice(ROOT.length, end) + (first.startsWith('@') ? `${first}/${second}` : first);
  });
  return [...new Set(paths)];
}
