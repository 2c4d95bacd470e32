/**
 * The data source of the TypeORM command line (`npm run migration:generate`). Node runs this file as it is; the
 * entities need decorators, so they come from the build. The modules of the application bring the migrations of
 * extensions.
 */
await import(new URL('./dist/app.module.js', import.meta.url).href);
const build = new URL('./dist/platform/database/cli-data-source.js', import.meta.url).href;
const { openCliDataSource } = (await import(build)) as typeof import('./src/platform/database/cli-data-source.js');

export default await openCliDataSource();
