import { Readable } from 'node:stream';
import { Controller, Get, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiHeader, ApiOperation, ApiParam, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import { isUUID } from 'class-validator';
import { create as contentDisposition } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { requirePermission } from '../../core/require-permission.js';
import { declarePermissions } from '../../core/self-permissions.js';
import { OpenToThreadTokens, requireThreadPermission } from '../../core/thread-access.js';
import { NoQuery } from '../../core/validation/no-query.js';
import { InputPipe } from '../../core/validation/input.pipe.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { AuthGuard } from '../../identity/auth/auth.guard.js';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { requestedRange } from './byte-range.js';
import { FileOutput } from './file.dto.js';
import type { FileEntity } from './file.entity.js';
import { FileLinks } from './file-links.js';
import { FileService } from './file.service.js';
import { FileStore } from './file-store.js';
import { FileUploads, tooLarge } from './file-uploads.js';
import { uploadOf } from './file-body.js';
import { isShown } from './media-type.js';

const FILE_CREATE = 'FILE_CREATE';
declarePermissions(FILE_CREATE);

const ANY_BODY = { type: 'string', format: 'binary' } as const;
const EXAMPLE = 'The bytes of the file';
const ANY_FILE = { '*/*': { schema: ANY_BODY, example: EXAMPLE } };
/** Whatever a browser takes the file for, nothing in it is executed. */
const SANDBOX = "sandbox; default-src 'none'";

/** Uploads and downloads of files. */
@ApiTags('files')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/files')
@Access('organization')
export class FilesController {
  constructor(
    private readonly uploads: FileUploads,
    private readonly files: FileService,
    private readonly store: FileStore,
    private readonly links: FileLinks,
    private readonly guard: AuthGuard,
    private readonly credentials: OpenCredentials,
  ) {}

  @Post()
  @OpenToThreadTokens('tool')
  @RouteConfig({ acceptsFiles: true })
  @HttpCode(201)
  @ApiOperation({
    operationId: 'uploadFile',
    summary: 'Stores a file, for a file part of a message.',
    description:
      'The body is the file, with its type as Content-Type and its name in `Content-Disposition: attachment; ' +
      "filename*=UTF-8''photo.png`, or a form with one file. Needs the permission FILE_CREATE, or a browser token that " +
      'may post.',
    requestBody: {
      required: true,
      content: {
        'application/octet-stream': { schema: ANY_BODY, example: EXAMPLE },
        'multipart/form-data': {
          schema: { type: 'object', required: ['file'], properties: { file: ANY_BODY } },
          example: { file: EXAMPLE },
        },
      },
    },
  })
  @ApiHeader({ name: 'Content-Disposition', required: false, description: 'The name of the file (RFC 6266).' })
  @ApiResponse({
    status: 201,
    description: 'The file',
    content: { 'application/json': { schema: schemaOf(FileOutput) } },
  })
  async upload(
    @Req() request: FastifyRequest,
    @Query(new InputPipe(NoQuery)) _query: NoQuery,
    @Caller() caller: Principal,
  ): Promise<FileOutput> {
    if (caller.thread === undefined) requirePermission(caller, FILE_CREATE);
    else requireThreadPermission(caller, 'post');
    const length = Number(request.headers['content-length'] ?? 0);
    const isForm = request.declaredType?.toLowerCase().startsWith('multipart/') === true;
    if (!isForm && length > this.uploads.maxBytes) throw tooLarge(this.uploads.maxBytes);
    const file = await this.uploads.upload(await uploadOf(request), caller);
    return { item: this.files.toItem(file, caller.organization.slug) };
  }

  @Get(':fileId')
  @Access('public')
  @ApiOperation({
    operationId: 'downloadFile',
    summary: 'Reads a file. Needs the permission FILE_GET, a browser token of a thread that names it, or a signature.',
  })
  @ApiParam({ name: 'fileId', description: 'The id of the file' })
  @ApiQuery({ name: 'expires', required: false, description: 'With `signature`, as in `signed_url` of FILE_GET' })
  @ApiQuery({ name: 'signature', required: false })
  @ApiHeader({ name: 'Range', required: false, description: 'One range of bytes (RFC 9110).' })
  @ApiResponse({ status: 200, description: 'The file', content: ANY_FILE })
  @ApiResponse({ status: 206, description: 'A part of the file', content: ANY_FILE })
  @ApiResponse({ status: 304, description: 'The file is the one that If-None-Match names.' })
  async download(
    @Param('org') org: string,
    @Param('fileId') id: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Headers('range') range: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const file = await this.openedBy(org, id, query, request, reply);
    if (file.contentId === null) throw new DomainError('file_deleted');
    const etag = `"${file.sha256}"`;
    void reply.headers({
      etag,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-security-policy': SANDBOX,
      'content-disposition': contentDisposition(file.filename ?? undefined, {
        type: isShown(file.mediaType) ? 'inline' : 'attachment',
      }),
    });
    const { 'if-none-match': known, 'if-range': ifRange } = request.headers;
    if (known !== undefined && known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag === '*')) {
      return void reply.status(304).send();
    }
    const part = ifRange === undefined || ifRange === etag ? requestedRange(range, file.size) : undefined;
    const { start, end } = part ?? { start: 0, end: file.size };
    if (part !== undefined) void reply.status(206).header('content-range', `bytes ${start}-${end - 1}/${file.size}`);
    const bytes = Readable.from(this.store.read(file.contentId, { start, end }), { objectMode: false });
    onceClosed(reply, () => bytes.destroy());
    if (request.principal !== undefined) {
      onceClosed(
        reply,
        this.credentials.watchPermissions(request.principal, () => reply.raw.destroy()),
      );
    }
    void reply
      .type(file.mediaType)
      .header('content-length', end - start)
      .send(bytes);
  }

  /** The file, if the signature or the credential of the request opens it. */
  private async openedBy(
    org: string,
    id: string,
    { expires, signature }: Readonly<Record<string, unknown>>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FileEntity> {
    if (typeof expires === 'string' && typeof signature === 'string') {
      if (!this.links.isValid(org, id, { expires, signature })) throw new DomainError('link_expired');
      return this.files.findByLink(org, id);
    }
    await this.guard.admitRequest(request, reply, 'organization', 'tool');
    const caller = request.principal as Principal;
    if (caller.thread === undefined) requirePermission(caller, 'FILE_GET');
    const file = isUUID(id) ? await this.files.find(caller.organization.id, id) : undefined;
    // Whoever may not open a file does not learn that there is one.
    if (file === undefined || !(await this.files.isOpenTo(caller, file))) throw this.files.notFound();
    return file;
  }
}
