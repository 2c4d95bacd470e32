import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FileUIPart } from 'ai';
import { principalOrganization } from '../../core/principal.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { half } from '../../core/sharing/shares.js';
import { FileLinks } from './file-links.js';
import { FileRepository, type NamingMessage } from './file.repository.js';
import { FileUploads } from './file-uploads.js';
import { mediaTypeOf, SNIFFED_BYTES } from './media-type.js';

/** The answer of a run, as far as its files need it. */
interface AnsweringRun extends NamingMessage {
  readonly id: string;
  readonly organizationId: string;
}

/** A file that a tool or a model has made. */
export interface MadeFile {
  readonly base64: string;
  /** What its maker says; the type that its bytes show counts. */
  readonly mediaType: string;
  readonly filename: string | null;
}

/**
 * Results of tools can have thousands of files at once, and each waits in the database for those of its organization.
 */
const STORED_AT_ONCE = 4;

/** Stores the files that come up while a run is answered. The answer names them. */
@Injectable()
export class AnswerFiles {
  private readonly turns = FairShare.ofTurns(STORED_AT_ONCE, [half]);

  constructor(
    private readonly repository: FileRepository,
    private readonly uploads: FileUploads,
    private readonly links: FileLinks,
  ) {}

  /**
   * Stores a file for the answer, which must be stored already. The call can be repeated.
   * @returns the part that names the file, and its size in bytes
   * @param signal ends the wait for its turn
   * @throws the reason of the signal, and what `FileUploads.upload` throws, except for types that contradict the bytes
   */
  store(file: MadeFile, run: AnsweringRun, signal: AbortSignal): Promise<{ part: FileUIPart; size: number }> {
    return this.turns.within([run.organizationId], () => this.storeNow(file, run), signal);
  }

  private async storeNow(
    { base64, mediaType, filename }: MadeFile,
    run: AnsweringRun,
  ): Promise<{ part: FileUIPart; size: number }> {
    const bytes = Buffer.from(base64, 'base64');
    const { slug, limits } = await this.repository.ownerOf(run.organizationId);
    const head = bytes.subarray(0, SNIFFED_BYTES);
    const declaredType = await mediaTypeOf(head, mediaType).catch(() => '');
    const owner = {
      organization: principalOrganization(run.organizationId, slug, limits),
      // No caller has this credential: everybody who can read the thread, or all files, can read the file.
      credentialId: `run:${run.id}`,
    };
    const file = await this.uploads.upload({ declaredType, filename, bytes: Readable.from([bytes]) }, owner, run);
    return { part: this.links.partOf(file, slug), size: file.size };
  }
}
