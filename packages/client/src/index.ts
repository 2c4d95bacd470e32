export type {
  Chunk,
  FileItem,
  ListItem,
  ListToolName,
  RunRequest,
  RunResult,
  RunStatus,
  SteerAccepted,
  SteerRequest,
  ToolInput,
  ToolName,
  ToolOutput,
} from './api.js';
export { filePart, type DownloadOptions, type FilePart, type Files, type UploadOptions } from './files.js';
export type { CallOptions, RawBody, SignalboxOptions } from './http.js';
export type { RunStream } from './run-stream.js';
export { Signalbox, type RunInput, type RunOptions, type SteerInput } from './signalbox.js';
export { SignalboxError, type FieldError } from './signalbox-error.js';
