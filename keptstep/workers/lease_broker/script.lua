-- The doorbell's whole life inside Redis, as one script with three verbs: tell, take, extend.
--
-- A message is a step's id. Each tool has a sorted set of them, scored with the moment, in
-- milliseconds of this server's own clock, from which a message may be taken:
--   score <= now   it waits
--   score >  now   somebody took it, and `owners` says who; when the lease ends it waits again
-- So nothing has to be reaped, and the clock of no other machine is asked.
--
-- KEYS: owners, refused, then for every tool its messages and its bell.
-- ARGV: the verb, the worker, the lease in milliseconds, and what the verb needs.
local owners, refused = KEYS[1], KEYS[2]
local verb, worker, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- A message taken this lately is not rung again: its taker is about to claim the row.
local LATELY = math.min(200, lease / 2)
-- What nobody rings or takes for a day, in milliseconds, is of a step that nobody waits for.
local DAY = 86400000
-- Messages that are no ids are thrown away this many at a time for each tool.
local SPARE = 32

local function messages_of(tool) return KEYS[1 + 2 * tool] end
local function bell_of(tool) return KEYS[2 + 2 * tool] end

local function wake(tool)
  local bell = bell_of(tool)
  if redis.call('EXISTS', bell) == 0 then
    redis.call('LPUSH', bell, '1')
    redis.call('PEXPIRE', bell, DAY)
  end
end

local function keep(tool)
  redis.call('PEXPIRE', messages_of(tool), DAY)
  redis.call('PEXPIRE', owners, DAY)
end

local function is_mine(id) return redis.call('HGET', owners, id) == worker end

local function wait_again(tool, id)
  redis.call('ZADD', messages_of(tool), now, id)
  redis.call('HDEL', owners, id)
  keep(tool)
  wake(tool)
end

local tell = {}

-- The row is ready and due. Whoever took the message some time ago does not run it, then.
function tell.ring(tool, id)
  local score = tonumber(redis.call('ZSCORE', messages_of(tool), id) or nil)
  local waits = score and score <= now
  local taken_lately = score and score <= now + lease and score > now + lease - LATELY
  if not waits and not taken_lately then wait_again(tool, id) end
end

function tell.done(tool, id)
  if is_mine(id) then
    redis.call('ZREM', messages_of(tool), id)
    redis.call('HDEL', owners, id)
  end
end

function tell.back(tool, id)
  if is_mine(id) then wait_again(tool, id) end
end

-- `id` is a task's here. Who says it need not hear it.
function tell.news(channel, id) redis.call('PUBLISH', channel, worker .. ' ' .. id) end

if verb == 'tell' then -- what, tool or channel, id, ... -> how many
  for i = 4, #ARGV, 3 do tell[ARGV[i]](ARGV[i + 1], ARGV[i + 2]) end
  return (#ARGV - 3) / 3
end

if verb == 'extend' then -- tool, id, ... -> how many are this worker's
  local mine = 0
  for i = 4, #ARGV, 2 do
    if is_mine(ARGV[i + 1]) then
      redis.call('ZADD', messages_of(ARGV[i]), 'XX', now + lease, ARGV[i + 1])
      mine = mine + 1
    end
  end
  return mine
end

-- take: how many, the tool to begin with -> milliseconds until the next message (-1: none is
-- there), how many were refused, then tool, id, tool, id, ...
local free, first = tonumber(ARGV[4]), tonumber(ARGV[5])
local tools = (#KEYS - 2) / 2

local function is_id(text) return #text == 32 and not string.find(text, '[^0-9a-f]') end

local waiting, bad = {}, 0
for tool = 1, tools do
  waiting[tool] = {}
  local key = messages_of(tool)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, free + SPARE)) do
    if is_id(id) then
      table.insert(waiting[tool], id)
    else
      redis.call('ZREM', key, id)
      bad = bad + 1
    end
  end
end
if bad > 0 then redis.call('HINCRBY', refused, 'malformed', bad) end

-- One message of each tool in turn, so that many of one tool keep no other waiting.
local found, rank, more = {-1, bad}, 1, true
while more and free > 0 do
  more = false
  for turn = 0, tools - 1 do
    local tool = (first + turn) % tools + 1
    local id = waiting[tool][rank]
    if id and free > 0 then
      redis.call('ZADD', messages_of(tool), now + lease, id)
      redis.call('HSET', owners, id, worker)
      keep(tool)
      table.insert(found, tool)
      table.insert(found, id)
      waiting[tool].taken = rank
      free = free - 1
      more = true
    end
  end
  rank = rank + 1
end

for tool = 1, tools do
  if #waiting[tool] > (waiting[tool].taken or 0) then wake(tool) end
end
if bad > 0 then
  found[1] = 0
elseif #found == 2 then
  for tool = 1, tools do
    local score = redis.call('ZRANGE', messages_of(tool), 0, 0, 'WITHSCORES')[2]
    if score then
      local wait = math.max(0, tonumber(score) - now)
      if found[1] < 0 or wait < found[1] then found[1] = wait end
    end
  end
end
return found
