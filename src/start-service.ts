import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule, type AppOptions } from './app.module.js';
import { endsWithin } from './core/with-timeout.js';
import { readSettings } from './core/config/settings.js';
import type { AppConfig } from './core/config/app-config.js';
import { configureApp, createAdapter } from './boot/configure-app.js';
import { listenWidely } from './platform/http/listen.js';
import { NestLogger } from './platform/logging/nest-logger.js';
import { createLogger } from './platform/logging/pino.js';
import { OpenTelemetry } from './platform/telemetry/open-telemetry.js';
import { version } from './core/version.js';
import { FirstStartService } from './boot/first-start.service.js';
import { CONSOLE_PATH } from './platform/pages/home.controller.js';
import { openStorage } from './boot/storage.js';

const APPLICATION_WITHIN_MS = 11_000;
/** PostgreSQL completes its shutdown on its own; the next start adopts a server that is still running. */
const STORAGE_WITHIN_MS = 3_000;

/** A service that listens. */
export interface RunningService {
  url: string;
  /** Waits for running work, closes every connection, and stops the embedded database, within 14 s in any case. */
  stop(): Promise<void>;
}

/**
 * Starts the service as the environment configures it, in order: settings, storage, application, listener. Registers
 * the OpenTelemetry providers globally, so start one service per process.
 * @param options.modules modules of an extending team, in addition to those of `AppModule`
 */
export async function startService(
  env: NodeJS.ProcessEnv,
  { modules }: Pick<AppOptions, 'modules'> = {},
): Promise<RunningService> {
  const settings = readSettings(env);
  const logger = createLogger(settings.logLevel);
  const { config, stop: stopStorage } = await openStorage(settings, (line) => logger.info(line));
  try {
    const telemetry = await OpenTelemetry.open(settings, { global: true });
    const app = await NestFactory.create<NestFastifyApplication>(
      AppModule.forRoot(config, { telemetry, ...(modules && { modules }) }),
      createAdapter(config, logger),
      {
        logger: new NestLogger(logger),
        bodyParser: false,
        abortOnError: false,
      },
    );
    configureApp(app, config, logger);
    const firstStart = config.servesApi ? app.get(FirstStartService) : undefined;
    const setupPath = await firstStart?.prepare();
    const fastify = app.getHttpAdapter().getInstance();
    await listenWidely(fastify, settings, (options) => app.listen(options));
    config.listeningAt(await app.getUrl());
    logger.info({ url: config.baseUrl, role: settings.role, version }, 'The service is ready');
    if (firstStart !== undefined) {
      process.stdout.write(announcement(config, { setupPath, newKey: await firstStart.createFirstKey() }));
    }
    return {
      url: config.baseUrl,
      stop: async () => {
        logger.info('The service is stopping');
        await endsWithin(app.close(), APPLICATION_WITHIN_MS);
        await endsWithin(stopStorage(), STORAGE_WITHIN_MS);
        logger.info('The service has stopped');
      },
    };
  } catch (error) {
    await stopStorage();
    throw error;
  }
}

/** What a start prints once. */
interface FirstStart {
  /** The value of the key that this start generated. */
  readonly newKey: string | undefined;
  readonly setupPath: string | undefined;
}

/**
 * The text that the service prints when it is listening: its URL, the console, a newly created key, the setup page
 * while there is no owner, and three commands to try. All commands can be pasted into a shell.
 */
function announcement(config: AppConfig, { newKey, setupPath }: FirstStart): string {
  const { baseUrl, settings, servesConsole } = config;
  const api = `${baseUrl}/api/${settings.bootstrapOrg}`;
  const headers = `-H "authorization: Bearer $API_KEY" -H 'content-type: application/json'`;
  const post = (path: string, body: string): string => `curl -s ${api}/${path} ${headers} -d ${body}`;
  const known =
    settings.bootstrapApiKey === undefined
      ? 'the API key that the first start printed'
      : 'the key in BOOTSTRAP_API_KEY';
  const key =
    newKey === undefined
      ? [`Use ${known}: export API_KEY=sbx_…`]
      : ['Your API key, which is not shown again:', '', `  export API_KEY=${newKey}`];
  return [
    '',
    `Signalbox listens on ${baseUrl}`,
    '',
    ...(servesConsole ? ['Open the console:', '', `  ${baseUrl}${CONSOLE_PATH}`, ''] : []),
    ...key,
    '',
    ...(setupPath === undefined
      ? []
      : ['Create the account of the owner on this page:', '', `  ${baseUrl}${setupPath}`, '']),
    `Three commands to try: create an agent, create a thread, and stream the answer to a message (reference: ${baseUrl}/docs).`,
    '',
    `  AGENT=$(${post('tools/COLLECTION_VIRTUAL_MCP_CREATE', `'{"data":{"title":"Hello"}}'`)} | grep -o '"id":"[^"]*' | head -1 | cut -c7-)`,
    '',
    `  ${post('tools/COLLECTION_THREADS_CREATE', `"{\\"data\\":{\\"id\\":\\"hello\\",\\"title\\":\\"Hello\\",\\"virtual_mcp_id\\":\\"$AGENT\\"}}"`)}`,
    '',
    `  (sleep 1; ${post('agent-runtime/threads/hello/messages', `"{\\"messages\\":[{\\"role\\":\\"user\\",\\"parts\\":[{\\"type\\":\\"text\\",\\"text\\":\\"Hello there\\"}]}],\\"agent\\":{\\"id\\":\\"$AGENT\\"}}"`)} >/dev/null) & curl -sN ${api}/agent-runtime/threads/hello/stream -H "authorization: Bearer $API_KEY"`,
    '',
    '',
  ].join('\n');
}
