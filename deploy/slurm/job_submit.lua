-- Slurm's job_submit/lua plugin (JobSubmitPlugins=lua): refuses a batch script with errors before it takes a place in the queue.
-- It sees the script alone, none of the user's files, so it says less than the wrapper does. A check that fails or takes more than
-- five seconds lets the job pass: a linter must not stop a cluster. `--comment=stablint-skip` submits without a check.
local STABLINT = os.getenv("STABLINT") or "/usr/local/bin/stablint"

local function check(script)
  local path = os.tmpname()
  local file = io.open(path, "wb")
  if not file then return true, "" end
  file:write(script)
  file:close()
  -- The name that is made here is the only word that comes from anywhere: the script goes in on standard input, and is never run. It is read
  -- in a folder of its own, so that no file of this machine that the script names is: the controller may read more than the user may.
  local command = string.format(
    "mkdir -m 700 %s.d && cd %s.d || exit 2; timeout 5 %s check - --stdin-filename job.sbatch --isolated --quiet --output-format concise"
      .. " --skip-unrecognised < %s 2>/dev/null; code=$?; cd /; rmdir %s.d; exit $code",
    path, path, STABLINT, path, path)
  local pipe = io.popen(command, "r")
  local said = pipe:read("*a") or ""
  local _, _, code = pipe:close()
  os.remove(path)
  return code ~= 1, said
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local script = job_desc.script
  if not script or #script > 1000000 or job_desc.comment == "stablint-skip" then
    return slurm.SUCCESS
  end
  local clean, said = check(script)
  if clean then return slurm.SUCCESS end
  slurm.log_user("stablint refuses this job:\n%s\nWith --comment=stablint-skip it is submitted all the same.", said)
  return slurm.ERROR
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end
