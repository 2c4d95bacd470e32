import { IsBoolean, IsInt, IsISO8601, IsString, IsUUID, Min } from 'class-validator';
import { IdInput } from '../../core/validation/item-input.js';
import { ItemOf, PageOf } from '../../core/paging/page-of.js';
import { MayBeNull } from '../../core/validation/presence.js';

export class FileIdInput extends IdInput {}

/** A file as returned to callers. */
export class FileItem {
  @IsUUID()
  id: string;

  @IsString()
  media_type: string;

  @MayBeNull()
  @IsString()
  filename: string | null;

  /** In bytes. */
  @IsInt()
  @Min(0)
  size: number;

  /** In hexadecimal. */
  @IsString()
  sha256: string;

  /** The path at this service, for `fetch` with a credential and for `url` in a file part of a message. */
  @IsString()
  url: string;

  @IsISO8601()
  created_at: string;

  /** True if FILE_DELETE has removed the bytes of a file that a message still names. */
  @IsBoolean()
  deleted: boolean;
}

/** A file that was read by its id. */
export class FileDetails extends FileItem {
  /** The path with a signature that opens the file without a credential for 15 minutes; null if it was deleted. */
  @MayBeNull()
  @IsString()
  signed_url: string | null;
}

export class FileOutput extends ItemOf(FileItem) {}

export class FileDetailsOutput extends ItemOf(FileDetails) {}

export class FilePage extends PageOf(FileItem) {}
