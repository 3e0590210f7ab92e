# Sources of gpucore/.
