import { randomUUID } from 'node:crypto';
import type { FieldClient } from './field-clients.js';
import { eventually } from './eventually.js';

/**
 * Something that a client does with `server-everything`; answers what it got, for comparison with another way there.
 */
export interface Flow {
  title: string;
  /** The modern era has no such thing, or the proxy has none for a client of it at a legacy server. */
  needsSession?: true;
  run(client: FieldClient): Promise<unknown>;
}

/** Takes the first notification of this kind, or waits for it. @throws when that takes too long */
function told(client: FieldClient, method: string, untilThen?: () => Promise<unknown>): Promise<unknown> {
  return eventually(async () => {
    const index = client.notified.findIndex((notification) => notification.method === method);
    if (index !== -1) return client.notified.splice(index, 1)[0];
    await untilThen?.();
    return false;
  });
}

/** The server requests the roots a little after its initialization. */
function rootsOf(client: FieldClient): Promise<unknown> {
  return eventually(async () => {
    const result = await client.callTool('get-roots-list');
    expect(JSON.stringify(result)).toContain('file:///tmp/field-client');
    return result;
  });
}

/** Each with a client that has `*` and whose capabilities are sampling, elicitation and roots. */
export const FLOWS: readonly Flow[] = [
  { title: 'lists tools, those for its capabilities among them', run: (client) => client.listTools() },
  { title: 'calls a tool', run: (client) => client.callTool('echo', { message: 'häßlich ☃ \u2028 "quoted"' }) },
  {
    title: 'gets structured content',
    run: (client) => client.callTool('get-structured-content', { location: 'Chicago' }),
  },
  { title: 'gets an image', run: (client) => client.callTool('get-tiny-image') },
  {
    title: 'hears of progress before the answer',
    run: async (client) => {
      const heard: unknown[] = [];
      const onprogress = (progress: { message?: string }): void => {
        // The client itself reports a round in which it is asked, such as for its roots, which can fall into the call.
        if (progress.message?.startsWith('Fulfilling input required') !== true) heard.push(progress);
      };
      const result = await client.callTool(
        'trigger-long-running-operation',
        { duration: 0.3, steps: 3 },
        { onprogress },
      );
      // The clients themselves drop progress that an answer overtakes: the last report comes right before it.
      return { heard: heard.slice(0, 2), result };
    },
  },
  {
    title: 'lends its model',
    run: async (client) => {
      const result = await client.callTool('trigger-sampling-request', { prompt: 'Hello' });
      return { asked: client.asked.splice(0), result };
    },
  },
  {
    title: 'asks its user',
    run: async (client) => {
      const result = await client.callTool('trigger-elicitation-request');
      return { asked: client.asked.splice(0), result };
    },
  },
  { title: 'is asked for its roots without having asked', needsSession: true, run: rootsOf },
  {
    title: 'gets log messages between its requests',
    needsSession: true,
    run: async (client) => {
      await client.setLoggingLevel('debug');
      await client.callTool('toggle-simulated-logging');
      await told(client, 'notifications/message');
      await client.callTool('toggle-simulated-logging');
      return 'Level and text of the message are random.';
    },
  },
  {
    title: 'hears of a resource that it subscribed to',
    needsSession: true,
    run: async (client) => {
      await client.subscribeResource('demo://resource/dynamic/text/1');
      await client.callTool('toggle-subscriber-updates');
      const notification = await told(client, 'notifications/resources/updated');
      await client.callTool('toggle-subscriber-updates');
      return notification;
    },
  },
  {
    title: 'hears that a list has changed, and reads what is new in it',
    needsSession: true,
    run: async (client) => {
      // The server has one place for the resources of all sessions: each client adds its own.
      const name = `${randomUUID()}.gz`;
      const add = () => client.callTool('gzip-file-as-resource', { name, data: 'data:text/plain;base64,SGVsbG8=' });
      // What is said before the client's stream is open is lost: it is said again.
      await told(client, 'notifications/resources/list_changed', add);
      const { contents } = await client.readResource(`demo://resource/session/${name}`);
      return contents.map(({ blob }) => blob);
    },
  },
  {
    title: 'lists resources',
    run: async (client) => {
      const { resources } = await client.listResources();
      return resources.filter(({ uri }) => !uri.startsWith('demo://resource/session/'));
    },
  },
  { title: 'lists resource templates', run: (client) => client.listResourceTemplates() },
  { title: 'lists prompts', run: (client) => client.listPrompts() },
  { title: 'gets a prompt', run: (client) => client.getPrompt('args-prompt', { city: 'Bern' }) },
  { title: 'completes an argument', run: (client) => client.complete('completable-prompt', 'department', 'S') },
  { title: 'pings', needsSession: true, run: (client) => client.ping() },
  {
    title: 'is refused arguments that are not the tool’s',
    // A server of the legacy era may say so in a result or in an error.
    run: (client) =>
      client.callTool('get-sum', { a: 'one' }).then(
        (result) => ('isError' in result && result.isError === true ? 'refused' : result),
        () => 'refused',
      ),
  },
];
