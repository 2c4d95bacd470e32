declare module 'class-transformer/cjs/storage.js' {
  import type { IOptions } from 'class-validator-jsonschema/build/options.js';
  /** Where class-transformer keeps its `@Type` metadata; published without types. */
  export const defaultMetadataStorage: NonNullable<IOptions['classTransformerMetadataStorage']>;
}
