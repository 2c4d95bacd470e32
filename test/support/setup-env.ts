import 'reflect-metadata';

// `nestjs-otel` is CommonJS and requires these two, which are ES modules: Jest can only require what is already loaded.
await import('@nestjs/common');
await import('@nestjs/core');
