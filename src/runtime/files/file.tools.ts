import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { DESTROYS, ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import { FileDetailsOutput, FileIdInput, FileOutput, FilePage } from './file.dto.js';
import { FileService } from './file.service.js';

@Injectable()
export class FileTools {
  constructor(private readonly files: FileService) {}

  @ManagementTool({
    name: 'FILE_GET',
    description: 'Reads what is known of a file, and an address that opens it without a credential for 15 minutes.',
    input: FileIdInput,
    output: FileDetailsOutput,
    annotations: READ_ONLY,
  })
  async get({ id }: FileIdInput, caller: Principal): Promise<FileDetailsOutput> {
    return { item: await this.files.get(id, caller) };
  }

  @ManagementTool({
    name: 'FILE_LIST',
    description: "Lists the organization's files, newest first by default.",
    input: ListInput,
    output: FilePage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<FilePage> {
    return this.files.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'FILE_DELETE',
    description: 'Deletes a file. Messages that name it keep their part; the file can no longer be read.',
    input: FileIdInput,
    output: FileOutput,
    annotations: DESTROYS,
  })
  async delete({ id }: FileIdInput, caller: Principal): Promise<FileOutput> {
    return { item: await this.files.delete(id, caller) };
  }
}
