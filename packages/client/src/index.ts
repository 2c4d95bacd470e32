export type {
  Chunk,
  ListItem,
  ListToolName,
  RunRequest,
  RunResult,
  RunStatus,
  ToolInput,
  ToolName,
  ToolOutput,
} from './api.js';
export type { SignalboxOptions } from './http.js';
export type { RunStream } from './run-stream.js';
export { Signalbox, type CallOptions, type RunInput, type RunOptions } from './signalbox.js';
export { SignalboxError, type FieldError } from './signalbox-error.js';
