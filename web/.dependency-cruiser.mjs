/**
 * The console has no circle of imports: views → shell → session, api → ui. `npm run check:layers` holds the code to it.
 */
export default {
  forbidden: [
    { name: 'no circle of files', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no circle of folders', severity: 'error', scope: 'folder', from: {}, to: { circular: true } },
    {
      name: 'ui knows nothing of the API',
      severity: 'error',
      from: { path: '^web/src/ui/' },
      to: { path: '^web/src/', pathNot: '^web/src/ui/' },
    },
    {
      name: 'views are at the top',
      severity: 'error',
      from: { path: '^web/src/(api|session|shell)/' },
      to: { path: '^web/src/views/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'web/tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js'], mainFields: ['types', 'main'] },
  },
};
