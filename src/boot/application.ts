import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { AppModule, type AppOptions } from '../app.module.js';
import type { AppConfig } from '../core/config/app-config.js';
import { version } from '../core/version.js';
import { endsWithin } from '../core/with-timeout.js';
import { listenWidely } from '../platform/http/listen.js';
import { Peers } from '../platform/http/peers.js';
import { NestLogger } from '../platform/logging/nest-logger.js';
import { OpenTelemetry } from '../platform/telemetry/open-telemetry.js';
import { configureApp, createAdapter } from './configure-app.js';
import { FirstStartService } from './first-start.service.js';
import { APPLICATION_WITHIN_MS } from './running-service.js';
import { CONSOLE_PATH } from '../platform/pages/home.controller.js';

/** What is given to an application that starts. */
interface ApplicationOptions extends Pick<AppOptions, 'modules'> {
  /** Whether it makes the first organization, its owner and its key, which is the work of one process. */
  readonly preparesFirstStart: boolean;
}

/** An application that listens. */
export interface RunningApplication {
  readonly telemetry: OpenTelemetry;
  /** Prints the service's address and, after a first start, its key. */
  announce(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the application of this process on open storage, in order: telemetry, modules, listener. Registers the
 * OpenTelemetry providers globally.
 */
export async function startApplication(
  config: AppConfig,
  logger: Logger,
  { modules, preparesFirstStart }: ApplicationOptions,
): Promise<RunningApplication> {
  const { settings } = config;
  const telemetry = await OpenTelemetry.open(settings, { global: true });
  const peers = config.slot && new Peers(config.slot, logger);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, { telemetry, ...(modules && { modules }) }),
    createAdapter(config, logger, peers),
    {
      logger: new NestLogger(logger),
      bodyParser: false,
      abortOnError: false,
    },
  );
  const connections = configureApp(app, config, logger);
  const firstStart = config.servesApi && preparesFirstStart ? app.get(FirstStartService) : undefined;
  const setupPath = await firstStart?.prepare();
  const fastify = app.getHttpAdapter().getInstance();
  await peers?.serveOn(fastify, connections);
  await listenWidely(fastify, settings, (options) => app.listen(options));
  config.listeningAt(await app.getUrl());
  logger.info({ url: config.baseUrl, role: settings.role, version }, 'The service is ready');
  return {
    telemetry,
    announce: async () => {
      if (firstStart === undefined) return;
      process.stdout.write(announcement(config, { setupPath, newKey: await firstStart.createFirstKey() }));
    },
    close: async () => {
      logger.info('The service is stopping');
      await endsWithin(app.close(), APPLICATION_WITHIN_MS);
    },
  };
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
