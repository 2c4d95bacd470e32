/**
 * Adds the packages of other platforms to `package-lock.json`: `npm run lock:complete`. Run it after `npm install`. If
 * a registry mirror does not offer these packages, `npm install` omits them, and `npm ci` then rejects the lock as
 * incomplete on every platform. Each added entry has the version that its parent requires, the platform in its name,
 * and no integrity hash: npm verifies the package against the registry's hash on installation.
 */
import { readFile, writeFile } from 'node:fs/promises';

const LOCK = new URL('../package-lock.json', import.meta.url);
const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'openbsd', 'netbsd', 'sunos', 'openharmony', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64', 'wasm32'];

const lock = JSON.parse(await readFile(LOCK, 'utf8'));
const { packages } = lock;
for (const parent of Object.values(packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const platform = platformOf(name);
    if (platform === undefined || packages[`node_modules/${name}`] !== undefined) continue;
    packages[`node_modules/${name}`] = { version, ...platform, ...(parent.dev ? { dev: true } : {}), optional: true };
    console.log(`added ${name}@${version}`);
  }
}
lock.packages = Object.fromEntries(Object.entries(packages).toSorted(([a], [b]) => a.localeCompare(b, 'en')));
await writeFile(LOCK, `${JSON.stringify(lock, null, 2)}\n`);

/** `@swc/core-linux-arm64-musl` → `{cpu: ['arm64'], libc: ['musl'], os: ['linux']}`. */
function platformOf(name) {
  const words = name.split('/').at(-1).split('-');
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  if (cpu === undefined) return undefined;
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : words.some((w) => w.startsWith('gnu'))
      ? 'glibc'
      : undefined;
  return { cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }), ...(os === undefined ? {} : { os: [os] }) };
}
