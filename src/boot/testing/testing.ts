/** `signalbox/testing`: a kit for tests of systems that use or extend the service. See docs/testing.md. */
export { ApiClient, type ApiResponse, UnexpectedStatusError } from './api-client.js';
export { type McpUpstream, startMcpUpstream, type UpstreamCall, type UpstreamTool } from './mcp-upstream.js';
export type { ModelBehaviour, ModelToolCall, ModelUsage } from './model-server.js';
export { type ModelRequest, type ScriptedModel, startScriptedModel } from './scripted-model.js';
export { createTestApp, type TestApp, type TestAppOptions } from './test-app.js';
export { type Permissions, TestClient } from './test-client.js';
export { type Answer, type PostOptions, ThreadClient } from './thread-client.js';
export { type CollectedStream, type OpenedStream, type StreamFrame, type StreamOptions } from './thread-stream.js';
