/**
 * Who may import whom in `src/`: the one table of layers (docs/architecture.md, "Layers"). A room imports from itself
 * and from the rooms that its row names. `npm run check:layers` holds the code to it.
 */
const ROOMS = {
  core: [],
  platform: ['core'],
  audit: ['core', 'platform'],
  identity: ['core', 'platform', 'audit'],
  connections: ['core', 'platform', 'audit', 'identity'],
  upstreams: ['core', 'platform', 'audit', 'identity', 'connections'],
  agents: ['core', 'platform', 'audit', 'connections', 'upstreams'],
  runtime: ['core', 'platform', 'audit', 'identity', 'agents', 'upstreams/contract'],
  automation: ['core', 'platform', 'identity', 'agents', 'runtime'],
  api: ['core', 'platform', 'audit', 'identity', 'runtime/worker'],
  proxy: ['core', 'platform', 'audit', 'identity', 'connections', 'upstreams', 'agents', 'runtime', 'api/tools'],
  console: ['core', 'platform', 'identity'],
};

/** Walls inside the rooms: which of its neighbors a folder imports from. `.` is the room's own files. */
const WALLS = {
  'core/config': ['.'],
  'platform/database': ['embedded-postgres'],
  'platform/embedded-postgres': [],
  'audit/calls': ['.'],
  'identity/credentials': [],
  'identity/auth': ['credentials'],
  'upstreams/contract': [],
  'upstreams/messages': ['contract'],
  'upstreams/arguments': [],
  'upstreams/http': ['contract', 'messages', 'notifications', 'session', 'sockets'],
  'upstreams/stdio': ['contract', 'messages', 'notifications', 'session'],
  'agents/models': [],
  'runtime/events': [],
  'runtime/files': [],
  'runtime/threads': ['files'],
  'runtime/runs': ['events', 'files', 'threads'],
  'runtime/worker': ['events', 'files', 'runs', 'threads'],
  'runtime/streaming': ['events', 'runs', 'threads'],
  'proxy/protocol': [],
  'proxy/forwarding': ['protocol'],
  'proxy/translation': ['forwarding', 'protocol'],
  'proxy/agent-server': ['forwarding', 'protocol', 'translation'],
  'proxy/http': ['agent-server', 'forwarding', 'protocol', 'translation'],
  'proxy/self': ['.', 'http', 'protocol'],
  'proxy/access': ['agent-server', 'protocol'],
};

/** It puts the process together: it imports what it starts. */
const COMPOSITION_ROOT = 'boot';

const filesOf = (folder) => `^src/${folder}/`;

const roomRules = Object.entries(ROOMS).map(([room, imported]) => ({
  name: `room: ${room}`,
  comment: `src/${room} imports from ${['itself', ...imported].join(', ')}, see .dependency-cruiser.mjs`,
  severity: 'error',
  from: { path: filesOf(room), pathNot: '\\.spec\\.ts$' },
  to: { path: '^src/', pathNot: [room, ...imported].map(filesOf) },
}));

const wallRules = Object.entries(WALLS).map(([folder, neighbors]) => {
  const [room] = folder.split('/');
  const open = neighbors.map((name) => (name === '.' ? `^src/${room}/[^/]+$` : filesOf(`${room}/${name}`)));
  return {
    name: `wall: ${folder}`,
    comment: `Inside ${room}, ${folder} imports from ${['itself', ...neighbors].join(', ')}, see .dependency-cruiser.mjs`,
    severity: 'error',
    from: { path: filesOf(folder), pathNot: '\\.spec\\.ts$' },
    to: { path: filesOf(room), pathNot: [filesOf(folder), ...open] },
  };
});

export default {
  forbidden: [
    ...roomRules,
    ...wallRules,
    {
      name: 'every folder belongs to a room',
      comment: 'Put the folder into a room of .dependency-cruiser.mjs.',
      severity: 'error',
      from: { path: '^src/.+/', pathNot: [...Object.keys(ROOMS), COMPOSITION_ROOT].map(filesOf) },
      to: {},
    },
    { name: 'no circle of files', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no circle of folders', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
    {
      name: 'nothing imports the composition root',
      severity: 'error',
      from: { pathNot: ['^src/[^/]+\\.ts$', '^src/boot/', '^test/', '\\.spec\\.ts$'] },
      to: { path: ['^src/boot/', '^src/(main|app\\.module)\\.ts$'] },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['node_modules', '\\.spec\\.ts$'] },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs'], mainFields: ['types', 'main'] },
  },
};
