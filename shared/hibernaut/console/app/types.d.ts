/** What the API answers, as far as the console reads it (docs/api.md). */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface ToolCall {
  name?: string | null;
  arguments?: string | null;
  tool_call_id?: string | null;
}

export interface ToolReturn {
  tool_return: string | ContentPart[];
  status: "success" | "error";
  tool_call_id: string;
  stdout?: string[] | null;
  stderr?: string[] | null;
}

export interface ContentPart {
  type: string;
  text?: string;
  source?: { type: string; url?: string; media_type?: string; data?: string };
}

export interface Answer {
  type?: string;
  tool_call_id: string;
  approve?: boolean;
  reason?: string | null;
  tool_return?: string | ContentPart[];
  status?: "success" | "error";
  stdout?: string[] | null;
  stderr?: string[] | null;
}

/** The calls for which a run asked for answers. */
export interface StepMetrics {
  tool_execution_ns: number | null;
  call_times?: { tool_call_id: string; execution_ns: number }[];
}

export interface RunApproval {
  run_id: string;
  agent_id: string;
  conversation_id: string | null;
  deadline: string | null;
  calls: { tool_call_id: string; name: string; needs_answer: boolean; by_client: boolean; policy: string | null }[];
  client_tools: { name: string; description: string | null; parameters: Json }[];
  how: string | null;
  answered_by: string | null;
}

export interface Template {
  name: string;
  latest_version: string;
  description: string | null;
  updated_at: string;
}

export interface TemplatePage {
  templates: Template[];
}

export interface TemplateDetails extends Template {
  version: string;
  agents: string[];
  variables: string[];
}

/** A message of a log, or an event of a stream. */
export interface Message {
  id: string;
  message_type: string;
  date?: string;
  otid?: string | null;
  run_id?: string | null;
  step_id?: string | null;
  seq_id?: number | null;
  name?: string | null;
  sender_id?: string | null;
  is_err?: boolean | null;
  content?: string | ContentPart[];
  reasoning?: string;
  state?: string;
  tool_call?: ToolCall;
  tool_calls?: ToolCall[] | ToolCall | null;
  tool_return?: string;
  tool_call_id?: string;
  status?: "success" | "error";
  stdout?: string[] | null;
  stderr?: string[] | null;
  tool_returns?: ToolReturn[] | null;
  approvals?: Answer[] | null;
  summary?: string;
  event_type?: string;
  message?: string;
  detail?: string | null;
  error_type?: string;
  stop_reason?: string;
  cost?: number | null;
  total_tokens?: number;
  step_count?: number;
}

export interface Block {
  id: string;
  label: string;
  value: string;
  limit: number;
  description: string | null;
  read_only: boolean;
}

export interface Agent {
  id: string;
  name: string;
  description: string | null;
  model: string | null;
  agent_type: string;
  tags: string[];
  created_at: string;
  updated_at: string;
  last_run_completion: string | null;
  last_stop_reason: string | null;
  pending_approval: Message | null;
  approval_deadline: number | null;
  blocks: Block[];
  hidden?: boolean | null;
  max_files_open?: number | null;
}

export interface Folder {
  id: string;
  name: string;
  description: string | null;
}

/** What a compaction would do now. Sizes are in tokens as the provider would count them. */
export interface CompactionPlan {
  mode: string | null;
  threshold: number;
  tokens: number;
  tokens_after: number;
  summary_limit: number;
  num_messages: number;
  num_messages_after: number;
  dropped: { id: string; role: string; created_at: string; tokens: number; text: string }[];
}

/** What became of a run's workers. */
export interface RunMetrics {
  attempts: number;
  sweeps: number;
  take_ups: {
    at: string;
    step: number;
    attempt: number;
    reason: "lease_expired" | "process_gone" | "death_reported";
    lease_until: string;
    reply_stored: boolean;
    sweeps: number;
  }[];
}

/** A file as its folder shows it: how far the server has read it. */
export interface FolderFile {
  id: string;
  file_name: string | null;
  original_file_name: string | null;
  file_size: number | null;
  processing_status: "pending" | "parsing" | "embedding" | "completed" | "error";
  error_message: string | null;
  total_chunks: number | null;
  chunks_embedded: number | null;
  estimated_completion_at: string | null;
}

/** A file as an agent sees it. */
export interface AgentFile {
  file_id: string;
  is_open: boolean;
  last_accessed_at: string | null;
  visible_content: string | null;
  start_line: number | null;
  end_line: number | null;
}

export interface Run {
  id: string;
  agent_id: string;
  conversation_id: string | null;
  status: "created" | "running" | "completed" | "failed" | "cancelled";
  created_at: string;
  completed_at: string | null;
  stop_reason: string | null;
  background: boolean | null;
}

export interface Conversation {
  id: string;
  agent_id: string;
  summary: string | null;
  created_at: string;
  last_message_at: string | null;
}

export interface Model {
  handle: string;
  display_name: string | null;
  context_window?: number;
  embedding_dim?: number;
  provider_name: string | null;
  provider_type: string;
  provider_category?: string | null;
}

export interface UsageTotal {
  steps: number;
  unpriced_steps: number;
  total_tokens: number;
  cost: number | null;
  aws_cost: number | null;
}

export interface Version {
  version: number;
  change: string;
  at: string;
  by: { source: string; run_id: string | null; agent_id: string | null; agent_type: string | null; tools: string[]; key_id: string | null } | null;
  fields: string[];
  restored_version?: number | null;
  block?: Block | null;
}

export interface FieldChange {
  before: Json;
  after: Json;
  diff?: string | null;
}

export interface Passage {
  id: string;
  text: string;
  archive_id: string | null;
  tags: string[] | null;
  created_at: string;
}

export interface PassageHit {
  passage: Passage;
  score: number;
  metadata: { combined_score?: number | null; vector_rank?: number | null; fts_rank?: number | null };
}

export interface MessageHit {
  message_type: string;
  message_id: string;
  conversation_id: string | null;
  created_at: string;
  content: string;
  score: number;
}

export interface Requirement {
  name: string;
  version?: string | null;
}

export interface Tool {
  id: string;
  name: string | null;
  description: string | null;
  tool_type: string;
  source_type: string | null;
  source_code: string | null;
  json_schema: any;
  default_requires_approval: boolean | null;
  enable_parallel_execution: boolean | null;
  pip_requirements: Requirement[] | null;
  packages?: { size: number; pins: { name: string; version: string }[] } | null;
  metadata_: { [name: string]: any } | null;
}

export interface McpServer {
  id: string;
  server_name: string;
  mcp_server_type: "streamable_http" | "sse" | "stdio";
  default_requires_approval: boolean | null;
  last_sync: { at: string; tools: number; left_out: { name: string; reason: string }[]; error: string | null } | null;
  server_url?: string;
  auth_token?: string | null;
  custom_headers?: Record<string, string> | null;
  command?: string;
  args?: string[];
  env?: Record<string, string> | null;
}

export interface Provider {
  id: string;
  name: string;
  provider_type: string;
  base_url: string | null;
}

export interface ApiKey {
  id: string;
  name: string;
  key?: string;
}

/** Its limits, by their names, are null where there is none. */
export interface Budget {
  subject: string;
  scope: "tenant" | "key" | "agent";
  is_default: boolean;
  warn_at: number | null;
  used: Record<string, number>;
  day_ends: string;
  month_ends: string;
  [limit: string]: any;
}

export interface ArgumentCondition {
  path: string;
  matches: string[];
  negate: boolean;
  ignore_case: boolean;
}

export interface ToolPolicy {
  id: string;
  name: string;
  action: string;
  tools: string[];
  servers: string[] | null;
  agent_tags: string[] | null;
  arguments: ArgumentCondition[];
  message: string | null;
  waives_approval: boolean;
  rate: { calls: number; seconds: number; per: string } | null;
  enabled: boolean;
}

export interface AuditRecord {
  kind: "agent" | "block" | "passage";
  subject: string;
  version: number;
  hash: string;
  fault: string | null;
  archive_id: string | null;
}

export interface Identity {
  id: string;
  identifier_key: string;
  name: string;
  identity_type: string;
  agent_ids: string[];
  block_ids: string[];
}

/** `receipt` and `check` are missing in lists. */
export interface Erasure {
  id: string;
  identity_id: string;
  state: "running" | "completed";
  started_at: string;
  receipt: { kind: string; id: string; extent: string }[];
  check: { state: string; found: { kind: string; id: string }[] } | null;
}
