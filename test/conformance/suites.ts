import { fileURLToPath } from 'node:url';

/** One run of the official conformance suite. */
export interface Suite {
  title: string;
  /** The program of the suite. */
  entry: string;
  /** What it is to run: the arguments of each process. */
  runs: readonly (readonly string[])[];
  /** How many checks pass without the proxy. Fewer would mean that the comparison has become empty. */
  passesDirect: number;
  /** Checks that pass direct and not another way, by name or by scenario (`scenario / *`), with the reason. */
  exceptions: Readonly<Record<'proxy' | 'gateway', Readonly<Record<string, string>>>>;
}

const NO_STREAMS = {
  'server-sse-multiple-streams / server-sse-streams-functional':
    'An agent lists its tools in one JSON body, so there are no streams whose events could be checked.',
};

/** The scenarios of the skills extension, which no revision requires. */
const SKILLS = ['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest'];

const entryOf = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/${name}/dist/index.js`, import.meta.url));

/** `mcp-conformance-legacy` is @modelcontextprotocol/conformance 0.1.16, `-modern` is 0.2.0-alpha.12. */
export const SUITES: readonly Suite[] = [
  {
    title: '0.1.16, every scenario',
    entry: entryOf('mcp-conformance-legacy'),
    runs: [['--suite', 'all']],
    passesDirect: 44,
    exceptions: { proxy: {}, gateway: NO_STREAMS },
  },
  {
    title: '0.2.0-alpha.12, revision 2025-03-26',
    entry: entryOf('mcp-conformance-modern'),
    runs: [['--suite', 'all', '--spec-version', '2025-03-26']],
    passesDirect: 3,
    exceptions: { proxy: {}, gateway: {} },
  },
  {
    title: '0.2.0-alpha.12, revision 2025-06-18',
    entry: entryOf('mcp-conformance-modern'),
    runs: [['--suite', 'all', '--spec-version', '2025-06-18']],
    passesDirect: 56,
    exceptions: { proxy: {}, gateway: {} },
  },
  {
    title: '0.2.0-alpha.12, revision 2025-11-25',
    entry: entryOf('mcp-conformance-modern'),
    runs: [['--requirements', '2025-11-25']],
    passesDirect: 84,
    exceptions: { proxy: {}, gateway: NO_STREAMS },
  },
  {
    title: '0.2.0-alpha.12, revision 2026-07-28',
    entry: entryOf('mcp-conformance-modern'),
    runs: [['--requirements', '2026-07-28']],
    passesDirect: 196,
    exceptions: {
      proxy: {},
      gateway: {
        'server-stateless / sep-2575-server-sends-tools-list-changed-on-subscription':
          'The fixture says that its tools have changed, and they have not. An agent tells of changes only that there are.',
      },
    },
  },
  {
    title: '0.2.0-alpha.12, skills',
    entry: entryOf('mcp-conformance-modern'),
    runs: SKILLS.map((scenario) => ['--scenario', scenario]),
    passesDirect: 45,
    exceptions: {
      proxy: {},
      gateway: Object.fromEntries(
        SKILLS.map((scenario) => [
          `${scenario} / *`,
          'An agent does not declare the extension. Its clients can read the files of skills as resources.',
        ]),
      ),
    },
  },
];
