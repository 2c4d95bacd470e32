import { mkdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { ChatCompletions } from '../../../src/boot/testing/chat-completions.js';
import type { ModelApi, ReceivedRequest, StreamedAnswer } from '../../../src/boot/testing/model-server.js';
import { AnthropicApi } from '../../support/model-apis/anthropic-api.js';
import { GoogleApi } from '../../support/model-apis/google-api.js';
import { OpenAiApi } from '../../support/model-apis/openai-api.js';
import { ResponsesAnswer } from '../../support/model-apis/responses-answer.js';
import { runClient } from '../client-process.js';
import { runDriver } from '../driver.js';
import type { FieldClient, Findings, Place } from '../field-client.js';
import { type FieldModel, LAST_WORDS, MODEL_KEY, startFieldModel } from '../field-model.js';
import type { FieldTask } from '../field-target.js';
import { commandOf } from '../installed-client.js';

const PROMPT = 'Call the tool.';

/** Claude Code asks for the beta version of the API. */
class MessagesApi extends AnthropicApi {
  override refusalOf(request: ReceivedRequest): number | undefined {
    return super.refusalOf({ ...request, path: request.path.replace(/\?beta=true$/, '') });
  }
}

/** Codex offers the tools of each server in a namespace, and calls have to name it. */
class NamespacesApi extends OpenAiApi {
  override answer(response: ServerResponse, { body }: { body: Record<string, unknown> }): StreamedAnswer {
    const tools = body['tools'] as { type: string; name: string; tools?: { name: string }[] }[];
    return new (class extends ResponsesAnswer {
      protected override named(name: string): object {
        const namespace = tools.find((offered) => offered.tools?.some((tool) => tool.name === name));
        return { namespace: namespace?.name, name };
      }
    })(response, String(body['model']));
  }
}

/** Lets a client call the tool that a scripted model wants, and returns what the model was told. */
async function withModel<Body extends object>(
  api: ModelApi<Body>,
  task: FieldTask,
  run: (model: FieldModel) => Promise<{ stdout: string }>,
): Promise<Findings> {
  const model = await startFieldModel(api, task);
  try {
    const { stdout } = await run(model);
    const findings = model.findings();
    if (!stdout.includes(LAST_WORDS)) throw new Error(`The client does not print what the model said: ${stdout}`);
    return findings;
  } finally {
    await model.close();
  }
}

async function writeConfiguration({ home }: Place, path: string, content: string | object): Promise<string> {
  const file = join(home, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const codex: FieldClient = {
  name: '@openai/codex',
  shows: [],
  how: '`exec`, Responses API',
  run: (task, place) =>
    withModel(new NamespacesApi(MODEL_KEY), task, async ({ baseUrl }) => {
      const lines = [
        'model = "scripted"',
        'model_provider = "field"',
        '[model_providers.field]',
        `name = "Field"\nbase_url = "${baseUrl}"\nwire_api = "responses"\nenv_key = "MODEL_KEY"`,
        '[mcp_servers.field]',
        `url = "${task.url}"\nbearer_token_env_var = "SERVICE_KEY"`,
      ];
      await writeConfiguration(place, '.codex/config.toml', lines.join('\n'));
      const args = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', PROMPT];
      const env = { MODEL_KEY, SERVICE_KEY: task.key };
      return runClient(commandOf(place.installed, 'codex'), args, place, env);
    }),
};

const claudeCode: FieldClient = {
  name: '@anthropic-ai/claude-code',
  shows: [],
  how: '`-p`, Messages API',
  run: (task, place) =>
    withModel(new MessagesApi(MODEL_KEY), task, async ({ baseUrl }) => {
      const server = { type: 'http', url: task.url, headers: { Authorization: `Bearer ${task.key}` } };
      const file = await writeConfiguration(place, 'mcp.json', { mcpServers: { field: server } });
      const args = ['-p', PROMPT, '--mcp-config', file, '--strict-mcp-config', '--allowedTools', 'mcp__field'];
      return runClient(commandOf(place.installed, 'claude'), args, place, {
        ANTHROPIC_BASE_URL: new URL(baseUrl).origin,
        ANTHROPIC_API_KEY: MODEL_KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // The scripted model does not search for its tools.
        ENABLE_TOOL_SEARCH: 'false',
      });
    }),
};

const geminiCli: FieldClient = {
  name: '@google/gemini-cli',
  shows: [],
  how: '`-p`, Gemini API',
  run: (task, place) =>
    withModel(new GoogleApi(MODEL_KEY), task, async ({ baseUrl }) => {
      const server = { httpUrl: task.url, headers: { Authorization: `Bearer ${task.key}` }, trust: true };
      await writeConfiguration(place, '.gemini/settings.json', {
        mcpServers: { field: server },
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      });
      const args = ['-p', PROMPT, '--yolo', '--skip-trust', '--model', 'gemini-2.5-flash'];
      return runClient(commandOf(place.installed, 'gemini'), args, place, {
        GOOGLE_GEMINI_BASE_URL: new URL(baseUrl).origin,
        GEMINI_API_KEY: MODEL_KEY,
      });
    }),
};

const opencode: FieldClient = {
  name: 'opencode-ai',
  shows: [],
  how: '`run`, Chat Completions API',
  run: (task, place) =>
    withModel(new ChatCompletions(MODEL_KEY), task, async ({ baseUrl }) => {
      const server = { type: 'remote', url: task.url, headers: { Authorization: `Bearer ${task.key}` }, oauth: false };
      const provider = {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: baseUrl, apiKey: MODEL_KEY },
        models: { scripted: {} },
      };
      await writeConfiguration(place, 'opencode.json', {
        model: 'field/scripted',
        provider: { field: provider },
        mcp: { field: server },
        autoupdate: false,
        share: 'disabled',
      });
      return runClient(commandOf(place.installed, 'opencode'), ['run', '--auto', PROMPT], place);
    }),
};

/** An agent whose tools are those of the server, in a program of a few lines. */
const openaiAgents: FieldClient = {
  name: '@openai/agents',
  shows: ['resource'],
  how: 'an agent, Responses API',
  run: async (task, place) => {
    let resource: unknown;
    const findings = await withModel(new OpenAiApi(MODEL_KEY), task, async ({ baseUrl }) => {
      const { outcome, findings } = await runDriver('openai-agents', place, { ...task, model: baseUrl, MODEL_KEY });
      resource = findings.resource;
      return outcome;
    });
    return { ...findings, resource };
  },
};

export const MODEL_CLIENTS: readonly FieldClient[] = [openaiAgents, codex, claudeCode, geminiCli, opencode];
