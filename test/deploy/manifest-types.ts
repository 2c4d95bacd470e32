import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Manifest } from './chart-renderer.js';

/** Of the Prometheus operator, whose types `kubernetes-types` does not have. */
const CUSTOM = 'monitoring.coreos.com/v1';
/** The checked text, next to this file so that its imports are found. It is never written. */
const FILE = fileURLToPath(new URL('./checked-manifests.ts', import.meta.url));

/**
 * Compares manifests with the types of Kubernetes' API: unknown and missing members, wrong types, and wrong words.
 * @returns the errors of the compiler; none for correct manifests
 */
export function typeErrorsOf(manifests: readonly Manifest[]): string[] {
  const text = manifests
    .filter(({ apiVersion }) => apiVersion !== CUSTOM)
    .map(({ apiVersion, kind, ...rest }, index) => {
      const path = apiVersion === 'v1' ? 'core/v1' : apiVersion.replace('.k8s.io', '');
      return `export const m${index}: import('kubernetes-types/${path}').${kind} = ${JSON.stringify({ apiVersion, kind, ...rest })};`;
    })
    .join('\n');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (name, version, ...others) =>
    name === FILE ? ts.createSourceFile(name, text, version) : getSourceFile(name, version, ...others);
  host.fileExists = (name) => name === FILE || fileExists(name);
  host.readFile = (name) => (name === FILE ? text : readFile(name));
  return ts
    .getPreEmitDiagnostics(ts.createProgram([FILE], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
