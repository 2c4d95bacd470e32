import type { components } from './openapi.js';

/**
 * A chunk of a streamed answer: a UI-message chunk of the AI SDK. Later versions can send further types, so ignore those that
 * you do not know.
 */
export type Chunk = components['schemas']['UiMessageChunk'];
