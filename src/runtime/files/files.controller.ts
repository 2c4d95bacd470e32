import { Readable } from 'node:stream';
import { applyDecorators, Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiHeader, ApiOperation, ApiParam, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import { isUUID } from 'class-validator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { requirePermission } from '../../core/require-permission.js';
import { declarePermissions } from '../../core/permissions.js';
import { OpenToThreadTokens, requireThreadPermission } from '../../core/thread-access.js';
import { InputPipe, NoQuery } from '../../core/validation/input.pipe.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { FileOutput } from './file.dto.js';
import type { FileEntity } from './file.entity.js';
import { FileLinks } from './file-links.js';
import { FileService } from './file.service.js';
import { FileStore, type ByteRange } from './file-store.js';
import { FileUploads } from './file-uploads.js';
import { uploadOf } from './file-body.js';
import { dispositionOf } from './filename.js';
import { isShown } from './media-type.js';

const FILE_CREATE = 'FILE_CREATE';
declarePermissions(FILE_CREATE);

const ANY_BODY = { type: 'string', format: 'binary' } as const;
const EXAMPLE = 'The bytes of the file';
const ANY_FILE = { '*/*': { schema: ANY_BODY, example: EXAMPLE } };
/** Whatever a browser takes the file for, nothing in it is executed. */
const SANDBOX = "sandbox; default-src 'none'";

/** What both routes that read a file have in common in the reference. */
function DescribesDownload(): MethodDecorator {
  return applyDecorators(
    ApiParam({ name: 'fileId', description: 'The id of the file' }),
    ApiHeader({ name: 'Range', required: false, description: 'One range of bytes (RFC 9110).' }),
    ApiResponse({ status: 200, description: 'The file', content: ANY_FILE }),
    ApiResponse({ status: 206, description: 'A part of the file', content: ANY_FILE }),
    ApiResponse({ status: 304, description: 'The file is the one that If-None-Match names.' }),
  );
}

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
    const file = await this.uploads.upload(await uploadOf(request, this.uploads.maxBytes), caller);
    return { item: this.files.toItem(file, caller.organization.slug) };
  }

  @Get(':fileId')
  @OpenToThreadTokens('tool')
  @ApiOperation({
    operationId: 'downloadFile',
    summary: 'Reads a file. Needs the permission FILE_GET, or a browser token of a thread that names it.',
  })
  @DescribesDownload()
  async download(
    @Param('fileId') id: string,
    @Query(new InputPipe(NoQuery)) _query: NoQuery,
    @Caller() caller: Principal,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const file = isUUID(id) ? await this.files.find(caller.organization.id, id) : undefined;
    const isOpen = file !== undefined && (await this.files.isOpenTo(caller, file));
    if (!isOpen && caller.thread === undefined) requirePermission(caller, 'FILE_GET');
    // Whoever may not open a file does not learn that there is one.
    if (!isOpen) throw this.files.notFound();
    onceClosed(
      reply,
      this.credentials.watchPermissions(caller, () => reply.raw.destroy()),
    );
    await this.send(file, request, reply);
  }

  @Get(':fileId/content')
  @Access('public')
  @ApiOperation({
    operationId: 'downloadSignedFile',
    summary: 'Reads a file without a credential: the address, `signed_url` of FILE_GET, has a signature.',
  })
  @ApiQuery({ name: 'expires', description: 'When the signature expires, in seconds since the epoch' })
  @ApiQuery({ name: 'signature', description: 'The signature of the address' })
  @DescribesDownload()
  async downloadSigned(
    @Param('org') org: string,
    @Param('fileId') id: string,
    @Query() { expires, signature }: Readonly<Record<string, unknown>>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const isValid =
      typeof expires === 'string' &&
      typeof signature === 'string' &&
      this.links.isValid(org, id, { expires, signature });
    if (!isValid) throw new DomainError('link_expired');
    await this.send(await this.files.findByLink(org, id), request, reply);
  }

  private async send(file: FileEntity, { headers }: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (file.contentId === null) throw new DomainError('file_deleted');
    const etag = `"${file.sha256}"`;
    void reply.headers({
      etag,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-security-policy': SANDBOX,
      'content-disposition': await dispositionOf(isShown(file.mediaType) ? 'inline' : 'attachment', file.filename),
    });
    const { 'if-none-match': known, 'if-range': ifRange, range } = headers;
    if (known !== undefined && known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag || tag === '*')) {
      return void reply.status(304).send();
    }
    const part = ifRange === undefined || ifRange === etag ? requestedRange(range, file.size) : undefined;
    const { start, end } = part ?? { start: 0, end: file.size };
    if (part !== undefined) void reply.status(206).header('content-range', `bytes ${start}-${end - 1}/${file.size}`);
    const bytes = Readable.from(this.store.read(file.contentId, { start, end }), { objectMode: false });
    onceClosed(reply, () => bytes.destroy());
    void reply
      .type(file.mediaType)
      .header('content-length', end - start)
      .send(bytes);
  }
}

const ONE_RANGE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/;

/**
 * The part of a file that a `Range` header asks for (RFC 9110, section 14.2); undefined for all of it. Anything but one
 * range of bytes is ignored, as the RFC allows.
 * @throws DomainError `range_not_satisfiable`
 */
function requestedRange(header: string | undefined, size: number): ByteRange | undefined {
  const [match, first, last, suffix] = ONE_RANGE.exec(header ?? '') ?? [];
  if (match === undefined) return undefined;
  const start = suffix === undefined ? Number(first) : Math.max(0, size - Number(suffix));
  const end = suffix !== undefined || last === '' ? size : Math.min(size, Number(last) + 1);
  if (suffix === undefined && last !== '' && Number(last) < Number(first)) return undefined;
  if (start < end) return { start, end };
  throw new DomainError('range_not_satisfiable', `The file has ${size} bytes.`, [], {
    headers: { 'content-range': `bytes */${size}` },
  });
}
