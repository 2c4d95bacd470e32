import { fileURLToPath } from 'node:url';

/** One run of the official conformance suite. */
export interface Suite {
  title: string;
  /** The program of the suite. */
  entry: string;
  /** What it is to run. */
  args: readonly string[];
  /** How many checks pass without the proxy. Fewer would mean that the comparison has become empty. */
  passesDirect: number;
  /** Checks that pass direct and not through the proxy, by name, with the reason. */
  exceptions: Readonly<Record<string, string>>;
}

const entryOf = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/${name}/dist/index.js`, import.meta.url));

/** `mcp-conformance-legacy` is @modelcontextprotocol/conformance 0.1.16, `-modern` is 0.2.0-alpha.12. */
export const SUITES: readonly Suite[] = [
  {
    title: '0.1.16, every scenario',
    entry: entryOf('mcp-conformance-legacy'),
    args: ['--suite', 'all'],
    passesDirect: 44,
    exceptions: {},
  },
  {
    title: '0.2.0-alpha.12, revision 2025-11-25',
    entry: entryOf('mcp-conformance-modern'),
    args: ['--requirements', '2025-11-25'],
    passesDirect: 84,
    exceptions: {},
  },
  {
    title: '0.2.0-alpha.12, revision 2026-07-28',
    entry: entryOf('mcp-conformance-modern'),
    args: ['--requirements', '2026-07-28'],
    passesDirect: 164,
    exceptions: {},
  },
];
