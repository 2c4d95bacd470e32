-- Records which files a message names, by the last segment of the addresses of its file parts. A file that does not
-- exist in the organization breaks the foreign key, and with it the statement that stores the message. The worker
-- records the files of an answer; the trigger does for an answer that is copied with its thread.
CREATE OR REPLACE FUNCTION message_name_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO message_files (organization_id, thread_id, message_id, file_id)
    SELECT DISTINCT NEW.organization_id, NEW.thread_id, NEW.id, right(part->>'url', 36)::uuid
      FROM json_array_elements(NEW.parts) AS part
     WHERE part->>'type' IN ('file', 'reasoning-file') AND part->>'url' ~ '/files/[0-9a-f-]{36}$'
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER messages_name_files AFTER INSERT ON messages FOR EACH ROW
  WHEN (NEW.parts::text LIKE '%file"%') EXECUTE FUNCTION message_name_files();
