#!/usr/bin/env bash
# Checks and measures the GPU back end: tools/gpu_session.sh FOLDER [SECONDS]
#
# Run it from the repository on a machine with an NVIDIA GPU, with the extras cuda, learn and rsl.
# Correctness comes first, then speed, then learning. Every part has a time limit, and its results
# are in FOLDER as soon as it ends. PYTHON names the interpreter (default: python).
set -u

folder=${1:?usage: tools/gpu_session.sh FOLDER [SECONDS]}
budget=${2:-540}
python=${PYTHON:-python}
export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
mkdir -p "$folder"
failed=0

# part NAME SECONDS COMMAND...: run a command within its limit and the time that is left
part() {
    local name=$1 limit=$2
    shift 2
    local left=$((budget - SECONDS))
    if ((left < 15)); then
        echo "$name: not started, the time is over" | tee -a "$folder/session.txt"
        failed=1
        return
    fi
    local start=$SECONDS code=0
    timeout --kill-after=10 $((limit < left ? limit : left)) "$@" \
        >"$folder/$name.out" 2>"$folder/$name.err" || code=$?
    echo "$name: exit code $code after $((SECONDS - start)) s" | tee -a "$folder/session.txt"
    ((code == 0)) || failed=1
}

command -v nvidia-smi >/dev/null && nvidia-smi >"$folder/machine.txt" 2>&1
robots=$("$python" -c "from tarsus.model.robot_data import robots_folder as f; print(f() or '')")
go2=$robots/go2_description/urdf/go2.urdf
set_speeds=(--set speed=0,1 sideways=-0.3,0.3 turn=-0.5,0.5 lift=0.1 fall_penalty=5)

# correctness
part tests 150 "$python" -m pytest tests/gpu -m gpu -n0 -q -x
# environments: the bits of the CPU, then control periods per second
part environments 270 "$python" -m tarsus bench --device cuda --learning --budget 260 --json \
    --out "$folder/environments.json"
# a joystick policy, judged on the CPU
part learn_go2 100 "$python" -m tarsus learn velocity --robot "$go2" --device cuda --seconds 20 \
    --out "$folder/go2" --no-pictures --json "${set_speeds[@]}"
part play_go2 60 "$python" -m tarsus play "$folder/go2" --trials 200 --json
# steps without tasks, and MuJoCo Warp
part steps 300 "$python" -m tarsus bench --device cuda --budget 290 --json \
    --out "$folder/steps.json"
exit $failed
