import { Injectable } from '@nestjs/common';
import { ModelsService } from '../../agents/models/models.service.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import type { Tier } from '../../core/tier.js';
import { MessageFiles, type SentFilePart } from '../files/message-files.js';
import type { NewRun } from './records/new-run.js';
import type { SteerRequest } from './run-request.dto.js';

type Messages = NewRun['messages'];

/** The messages of run requests, as they are stored. */
@Injectable()
export class RequestMessages {
  constructor(
    private readonly files: MessageFiles,
    private readonly models: ModelsService,
  ) {}

  holdFiles({ messages }: SteerRequest): boolean {
    return messages.some(({ parts }) => parts.some(({ type }) => type === 'file'));
  }

  /** Messages without file parts. */
  ofText({ messages }: SteerRequest): Messages {
    return messages.map(({ id, role, parts }) => ({
      id: id ?? newId(),
      role,
      parts: parts.map(({ text = '' }) => ({ type: 'text', text })),
    }));
  }

  /**
   * Messages whose file parts name stored files.
   * @param tiers of the models that can answer
   * @throws what `MessageFiles.store` throws
   */
  async withFiles(request: SteerRequest, tiers: readonly Tier[], caller: Principal): Promise<Messages> {
    const sent = request.messages.flatMap(({ parts }, m) =>
      parts.flatMap((part, p) =>
        part.type === 'file'
          ? [{ part, file: { ...part, path: `messages[${m}].parts[${p}].url` } as SentFilePart }]
          : [],
      ),
    );
    const models = await Promise.all(tiers.map((tier) => this.models.resolveModels(caller.organization.id, tier)));
    const takes = (mediaType: string): boolean => models.flat().some((model) => model.takesFile(mediaType));
    const files = sent.map(({ file }) => file);
    const stored = await this.files.store(files, takes, caller);
    const storedOf = new Map<object, (typeof stored)[number] | undefined>(
      sent.map(({ part }, index) => [part, stored[index]]),
    );
    return this.ofText(request).map((message, m) => ({
      ...message,
      parts: message.parts.map((text, p) => storedOf.get(request.messages[m]?.parts[p] as object) ?? text),
    }));
  }
}
